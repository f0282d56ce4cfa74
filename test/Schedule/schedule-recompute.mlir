// RUN: weft-opt %s --pass-pipeline='builtin.module(weft-schedule{policy=best})' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(weft-schedule{policy=sync})' | FileCheck %s

// What is computed again is computed once the gradient is there, though it could
// have been from the start; the barrier is gone.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @f
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK: %[[FIRST:.*]] = weft.matmul %[[X]], %[[W]]
// CHECK: %[[G:.*]] = weft.matmul %[[FIRST]], %[[W]]
// CHECK-NOT: optimization_barrier
// CHECK: %[[AGAIN:.*]] = weft.matmul %[[X]], %[[W]]
// CHECK: weft.matmul %[[AGAIN]], %[[G]]
func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2:2 = weft.optimization_barrier %x, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  %3 = weft.matmul %2#0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %4 = weft.matmul %3, %2#1 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
