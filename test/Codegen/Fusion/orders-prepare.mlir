// RUN: weft-opt %s --weft-prepare-kernels --canonicalize --cse | FileCheck %s
// RUN: weft-opt %s --weft-prepare-kernels --canonicalize --cse --weft-fuse-kernels | FileCheck %s --check-prefix=FUSED

#id3 = affine_map<(b, i, j) -> (b, i, j)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {

// The order stays when a dim of size 1 leaves, and when the producer joins.
// CHECK-LABEL: func @sum
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK-SAME: attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>}
// CHECK-NOT: arith{{.*}}weft.order
// FUSED-LABEL: func @sum
// FUSED: weft_rt.fused
// FUSED: linalg.generic
// FUSED-SAME: attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>}
// FUSED: arith.mulf
// FUSED: arith.addf %{{.*}}, %{{.*}} : f32
// FUSED-NOT: linalg.generic
// FUSED: return
func.func @sum(%x: tensor<1x8x256xf32>) -> (tensor<1x8xf32> {weft.name = "y"}) {
  %c = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<1x8x256xf32>
  %e = tensor.empty() : tensor<1x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x8xf32>) -> tensor<1x8xf32>
  %p = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x8x256xf32>) outs(%w : tensor<1x8x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<1x8x256xf32>
  %s = linalg.generic {indexing_maps = [#id3, affine_map<(b, i, j) -> (b, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<1x8x256xf32>) outs(%z : tensor<1x8xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<1x8xf32>
  return %s : tensor<1x8xf32>
}

// A last loop of size 1 takes the lanes with it.
// CHECK-LABEL: func @unit_lanes
// CHECK: attrs = {weft.order = #weft.order<leaves = 2>}
func.func @unit_lanes(%x: tensor<8x1xf32>) -> (tensor<f32> {weft.name = "y"}) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<8x1xf32>) outs(%z : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2, lanes = 4>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// A sum of one element is init + (0 + element), which is +0 for zeros.
// CHECK-LABEL: func @one_element
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]}
// CHECK: %[[T:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[T]] : f32
func.func @one_element(%x: tensor<8x1xf32>, %init: tensor<8xf32>) -> (tensor<8xf32> {weft.name = "y"}) {
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x1xf32>) outs(%init : tensor<8xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Contractions keep theirs when transposes and dims of size 1 leave, and when
// they are computed in other types.
// CHECK-LABEL: func @contractions
// CHECK: weft.matmul {{.*}}weft.order = #weft.order<leaves = 4>{{.*}} : tensor<8x32xf32>, tensor<4x8xf32> -> tensor<4x32xf32>
// CHECK: weft.matmul {{.*}}weft.order = #weft.order<leaves = 2>{{.*}} : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
// CHECK: weft.matmul {{.*}}weft.order = #weft.order<leaves = 1>{{.*}} : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
func.func @contractions(%a: tensor<1x8x32xf32>, %b: tensor<4x8xf32>, %c: tensor<8x16xbf16>, %d: tensor<16x4xbf16>)
    -> (tensor<1x4x32xf32> {weft.name = "x"}, tensor<8x4xf16> {weft.name = "y"}, tensor<8x4xf16> {weft.name = "z"}) {
  %et = tensor.empty() : tensor<1x32x8xf32>
  %t = linalg.transpose ins(%a : tensor<1x8x32xf32>) outs(%et : tensor<1x32x8xf32>) permutation = [0, 2, 1]
  %0 = weft.matmul %t, %b {weft.order = #weft.order<leaves = 4>, indexing_maps = [affine_map<(u, m, n, k) -> (u, m, k)>, affine_map<(u, m, n, k) -> (n, k)>, affine_map<(u, m, n, k) -> (u, n, m)>]}
      : tensor<1x32x8xf32>, tensor<4x8xf32> -> tensor<1x4x32xf32>
  %1 = weft.matmul %c, %d {weft.order = #weft.order<leaves = 2>, indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf16>
  %2 = weft.matmul %c, %d {weft.order = #weft.order<leaves = 1, rounded = true>, indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf16>
  return %0, %1, %2 : tensor<1x4x32xf32>, tensor<8x4xf16>, tensor<8x4xf16>
}

// Sums of f32 may have leaves of two bytes.
// CHECK-LABEL: func @narrow_leaves
// CHECK: weft.matmul {{.*}}weft.order = #weft.order<leaves = 2, rounded = true>{{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xbf16>
func.func @narrow_leaves(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> (tensor<8x4xbf16> {weft.name = "y"}) {
  %0 = weft.matmul %a, %b {weft.order = #weft.order<leaves = 2, rounded = true>, indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

}
