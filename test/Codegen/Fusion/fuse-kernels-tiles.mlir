// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

// What waits for a later phase is as much as a part of a row has, where a dim
// that all ops share can be cut: magnitudes of columns, 64 KiB a row, wait in
// the kernel.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ik = affine_map<(i, j, k) -> (i, k)>

// CHECK-LABEL: func @columns
// CHECK: weft_rt.fused
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @columns(%x: tensor<16x16x16384xf32> {weft.name = "x"}) -> (tensor<16x16x16384xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %m0 = tensor.empty() : tensor<16x16384xf32>
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<16x16384xf32>) -> tensor<16x16384xf32>
  %m = linalg.generic {indexing_maps = [#ijk, #ik], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<16x16x16384xf32>) outs(%m1 : tensor<16x16384xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16384xf32>
  %e = tensor.empty() : tensor<16x16x16384xf32>
  %y = linalg.generic {indexing_maps = [#ijk, #ik, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<16x16x16384xf32>, tensor<16x16384xf32>) outs(%e : tensor<16x16x16384xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<16x16x16384xf32>
  return %y : tensor<16x16x16384xf32>
}

// -----

// A row whose sum is needed is not cut: 64 KiB of it would wait.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ij_k = affine_map<(i, j, k) -> (i, j)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @rows
// CHECK-COUNT-2: weft_rt.fused
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @rows(%x: tensor<16x16384x16xf32> {weft.name = "x"}) -> (tensor<16x16384xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16384xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16384xf32>) -> tensor<16x16384xf32>
  %f = linalg.generic {indexing_maps = [#ijk, #ij_k], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<16x16384x16xf32>) outs(%f0 : tensor<16x16384xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<16x16384xf32>
  %s0 = tensor.empty() : tensor<16xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%f : tensor<16x16384xf32>) outs(%s1 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%f, %s : tensor<16x16384xf32>, tensor<16xf32>) outs(%e : tensor<16x16384xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<16x16384xf32>
  return %y : tensor<16x16384xf32>
}

// -----

// Four rows are few to share out, their parts of 256 columns are enough.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ik = affine_map<(i, j, k) -> (i, k)>

// CHECK-LABEL: func @few
// CHECK: weft_rt.fused
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @few(%x: tensor<4x128x2048xf32> {weft.name = "x"}) -> (tensor<4x128x2048xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %m0 = tensor.empty() : tensor<4x2048xf32>
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<4x2048xf32>) -> tensor<4x2048xf32>
  %m = linalg.generic {indexing_maps = [#ijk, #ik], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<4x128x2048xf32>) outs(%m1 : tensor<4x2048xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x2048xf32>
  %e = tensor.empty() : tensor<4x128x2048xf32>
  %y = linalg.generic {indexing_maps = [#ijk, #ik, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<4x128x2048xf32>, tensor<4x2048xf32>) outs(%e : tensor<4x128x2048xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x128x2048xf32>
  return %y : tensor<4x128x2048xf32>
}

// -----

// Rows that have no parts stay few.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ik = affine_map<(i, j, k) -> (i, k)>

// CHECK-LABEL: func @uncut
// CHECK-COUNT-2: weft_rt.fused
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @uncut(%x: tensor<4x4096x64xf32> {weft.name = "x"}) -> (tensor<4x4096x64xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %m0 = tensor.empty() : tensor<4x64xf32>
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %m = linalg.generic {indexing_maps = [#ijk, #ik], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<4x4096x64xf32>) outs(%m1 : tensor<4x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  %e = tensor.empty() : tensor<4x4096x64xf32>
  %y = linalg.generic {indexing_maps = [#ijk, #ik, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<4x4096x64xf32>, tensor<4x64xf32>) outs(%e : tensor<4x4096x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x4096x64xf32>
  return %y : tensor<4x4096x64xf32>
}
