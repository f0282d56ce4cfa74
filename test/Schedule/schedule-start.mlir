// RUN: weft-opt --weft-schedule=machine=h100x8 %s | FileCheck %s

// The queries of the rank that has most to do begin at 4,096: it sees three
// quarters of the keys on average.
// CHECK-LABEL: func.func @direct
// CHECK-SAME: compute_ns = [[$LAST:[0-9]+]]

// As many steps as are followed.
// CHECK-LABEL: func.func @twelve
// CHECK-SAME: compute_ns = [[$LAST]]

// Of more than these, and of an argument, nobody knows: queries lie evenly among
// the keys, and see half of them. 40 doublings would be 2^40 steps.
// CHECK-LABEL: func.func @doubled
// CHECK-SAME: compute_ns = [[$EVEN:[0-9]+]]
// CHECK-NOT: compute_ns = [[$LAST]]
// CHECK-LABEL: func.func @given
// CHECK-SAME: compute_ns = [[$EVEN]]

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @direct(%q: tensor<4096x128xbf16>, %k: tensor<8192x128xbf16>) -> tensor<4096x128xbf16> {
  %size = arith.constant 4096 : index
  %i = weft.axis_index @mesh <{"cp"}>
  %s0 = arith.muli %i, %size : index
  %out, %lse = weft.attention %q, %k, %k start %s0 {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4096x128xbf16>, tensor<8192x128xbf16>, tensor<8192x128xbf16>, index) -> (tensor<4096x128xbf16>, tensor<4096xf32>)
  return %out : tensor<4096x128xbf16>
}

func.func @twelve(%q: tensor<4096x128xbf16>, %k: tensor<8192x128xbf16>) -> tensor<4096x128xbf16> {
  %zero = arith.constant 0 : index
  %size = arith.constant 4096 : index
  %i = weft.axis_index @mesh <{"cp"}>
  %s0 = arith.muli %i, %size : index
  %s1 = arith.addi %s0, %zero : index
  %s2 = arith.addi %s1, %zero : index
  %s3 = arith.addi %s2, %zero : index
  %s4 = arith.addi %s3, %zero : index
  %s5 = arith.addi %s4, %zero : index
  %s6 = arith.addi %s5, %zero : index
  %s7 = arith.addi %s6, %zero : index
  %s8 = arith.addi %s7, %zero : index
  %s9 = arith.addi %s8, %zero : index
  %s10 = arith.addi %s9, %zero : index
  %s11 = arith.addi %s10, %zero : index
  %out, %lse = weft.attention %q, %k, %k start %s11 {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4096x128xbf16>, tensor<8192x128xbf16>, tensor<8192x128xbf16>, index) -> (tensor<4096x128xbf16>, tensor<4096xf32>)
  return %out : tensor<4096x128xbf16>
}

func.func @doubled(%q: tensor<4096x128xbf16>, %k: tensor<8192x128xbf16>) -> tensor<4096x128xbf16> {
  %size = arith.constant 4096 : index
  %i = weft.axis_index @mesh <{"cp"}>
  %s0 = arith.muli %i, %size : index
  %s1 = arith.addi %s0, %s0 : index
  %s2 = arith.addi %s1, %s1 : index
  %s3 = arith.addi %s2, %s2 : index
  %s4 = arith.addi %s3, %s3 : index
  %s5 = arith.addi %s4, %s4 : index
  %s6 = arith.addi %s5, %s5 : index
  %s7 = arith.addi %s6, %s6 : index
  %s8 = arith.addi %s7, %s7 : index
  %s9 = arith.addi %s8, %s8 : index
  %s10 = arith.addi %s9, %s9 : index
  %s11 = arith.addi %s10, %s10 : index
  %s12 = arith.addi %s11, %s11 : index
  %s13 = arith.addi %s12, %s12 : index
  %s14 = arith.addi %s13, %s13 : index
  %s15 = arith.addi %s14, %s14 : index
  %s16 = arith.addi %s15, %s15 : index
  %s17 = arith.addi %s16, %s16 : index
  %s18 = arith.addi %s17, %s17 : index
  %s19 = arith.addi %s18, %s18 : index
  %s20 = arith.addi %s19, %s19 : index
  %s21 = arith.addi %s20, %s20 : index
  %s22 = arith.addi %s21, %s21 : index
  %s23 = arith.addi %s22, %s22 : index
  %s24 = arith.addi %s23, %s23 : index
  %s25 = arith.addi %s24, %s24 : index
  %s26 = arith.addi %s25, %s25 : index
  %s27 = arith.addi %s26, %s26 : index
  %s28 = arith.addi %s27, %s27 : index
  %s29 = arith.addi %s28, %s28 : index
  %s30 = arith.addi %s29, %s29 : index
  %s31 = arith.addi %s30, %s30 : index
  %s32 = arith.addi %s31, %s31 : index
  %s33 = arith.addi %s32, %s32 : index
  %s34 = arith.addi %s33, %s33 : index
  %s35 = arith.addi %s34, %s34 : index
  %s36 = arith.addi %s35, %s35 : index
  %s37 = arith.addi %s36, %s36 : index
  %s38 = arith.addi %s37, %s37 : index
  %s39 = arith.addi %s38, %s38 : index
  %s40 = arith.addi %s39, %s39 : index
  %out, %lse = weft.attention %q, %k, %k start %s40 {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4096x128xbf16>, tensor<8192x128xbf16>, tensor<8192x128xbf16>, index) -> (tensor<4096x128xbf16>, tensor<4096xf32>)
  return %out : tensor<4096x128xbf16>
}

func.func @given(%q: tensor<4096x128xbf16>, %k: tensor<8192x128xbf16>, %s0: index) -> tensor<4096x128xbf16> {
  %out, %lse = weft.attention %q, %k, %k start %s0 {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4096x128xbf16>, tensor<8192x128xbf16>, tensor<8192x128xbf16>, index) -> (tensor<4096x128xbf16>, tensor<4096xf32>)
  return %out : tensor<4096x128xbf16>
}
