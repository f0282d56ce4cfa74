// RUN: weft-opt %s --weft-fuse-kernels | FileCheck %s

#matrix = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// A kernel that reads the same with barriers and without reads it once, after
// the last one.

// CHECK-LABEL: func @same_but_for_barriers
// CHECK-SAME: (%[[A:.*]]: tensor<8x8xf32>, %{{.*}}: tensor<8x8xf32>)
// CHECK: %[[N:.*]] = weft.matmul
// CHECK: weft.optimization_barrier %[[A]], %[[N]]
// CHECK: %[[M:.*]] = weft.matmul
// CHECK: %[[LAST:.*]]:2 = weft.optimization_barrier %[[A]], %[[M]]
// CHECK: %{{.*}} = weft_rt.fused ins(%[[LAST]]#0 : tensor<8x8xf32>) -> tensor<8x8xf32>
func.func @same_but_for_barriers(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %n = weft.matmul %a, %b {indexing_maps = [#lhs, #rhs, #out]}
      : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %first:2 = weft.optimization_barrier %a, %n : tensor<8x8xf32>, tensor<8x8xf32>
  %m = weft.matmul %n, %b {indexing_maps = [#lhs, #rhs, #out]}
      : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %last:2 = weft.optimization_barrier %a, %m : tensor<8x8xf32>, tensor<8x8xf32>
  %x = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%first#0, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %last#0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  return %y, %m : tensor<8x8xf32>, tensor<8x8xf32>
}
