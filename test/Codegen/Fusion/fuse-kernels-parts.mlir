// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers -split-input-file | FileCheck %s --check-prefix=PLAN

// A part that a kernel computes in another shape is computed in the shape that
// it has in the concatenation, and a part that is used elsewhere too is written
// twice. Neither is copied later.

#ij = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @parts
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<8x16xf32> {{.*}}, %[[Y:[a-z0-9]*]]: tensor<8x16xf32>
// CHECK: %[[X4:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<8x2x8xf32>
// CHECK: %[[Y4:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<8x2x8xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: %[[K:.*]]:3 = weft_rt.fused ins(%[[X4]], %[[Y4]] :
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: weft_rt.fused
// CHECK: tensor.collapse_shape %[[K]]#0 {{.*}} into tensor<8x16xf32>
// CHECK: tensor.concat dim(2) %[[K]]#1, %[[K]]#2 :

// PLAN-LABEL: func @parts
// PLAN-COUNT-1: weft_rt.fused
// PLAN-NOT: weft_rt.fused
// PLAN: return
func.func @parts(%x: tensor<8x16xf32> {weft.name = "x"}, %y: tensor<8x16xf32> {weft.name = "y"})
    -> (tensor<8x2x16xf32> {weft.name = "a"}, tensor<8x16xf32> {weft.name = "b"}) {
  %e = tensor.empty() : tensor<8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %product = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %s = tensor.expand_shape %sum [[0], [1, 2]] output_shape [8, 2, 8] : tensor<8x16xf32> into tensor<8x2x8xf32>
  %p = tensor.expand_shape %product [[0], [1, 2]] output_shape [8, 2, 8] : tensor<8x16xf32> into tensor<8x2x8xf32>
  %c = tensor.concat dim(2) %s, %p : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x16xf32>
  return %c, %sum : tensor<8x2x16xf32>, tensor<8x16xf32>
}

// -----

// A kernel reads a part where it is.

#i = affine_map<(i) -> (i)>

// CHECK-LABEL: func @read_in_place
// CHECK: %[[K:.*]] = weft_rt.fused {{.*}} -> tensor<8xf32> {
// CHECK: tensor.concat dim(0) %[[K]], %{{.*}} :
// CHECK: weft_rt.fused ins(%[[K]], %{{.*}} : tensor<8xf32>, tensor<16xf32>)
func.func @read_in_place(%x: tensor<8xf32> {weft.name = "x"}, %m: tensor<16x16xf32> {weft.name = "m"})
    -> (tensor<8xf32> {weft.name = "a"}) {
  %e = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %c = tensor.concat dim(0) %n, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %v = weft.matmul %c, %m {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>]}
      : tensor<16xf32>, tensor<16x16xf32> -> tensor<16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%n, %v : tensor<8xf32>, tensor<16xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Reductions, and what depends on its index, stay as they are.

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @no_parts
// CHECK: weft_rt.fused
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: weft_rt.fused
// CHECK: linalg.index 0
// CHECK-COUNT-2: tensor.expand_shape
func.func @no_parts(%x: tensor<8x16xf32> {weft.name = "x"}, %z: tensor<8xf32> {weft.name = "z"})
    -> (tensor<2x8xf32> {weft.name = "a"}) {
  %e = tensor.empty() : tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %count = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %s = tensor.expand_shape %sum [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %p = tensor.expand_shape %count [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %c = tensor.concat dim(1) %s, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  return %c : tensor<2x8xf32>
}
