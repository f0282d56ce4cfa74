// RUN: weft-opt --weft-accumulate=axis=mb --canonicalize %s | FileCheck %s --check-prefixes=CHECK,ONCE
// RUN: weft-opt --weft-accumulate="axis=mb regather" --canonicalize %s | FileCheck %s --check-prefixes=CHECK,AGAIN

// A weight is stored in shards, gathered in the forward and again in the
// backward pass, and its gradient is reduced to shards. Either it is gathered
// once for all microbatches, whose gradients are added first; or each microbatch
// gathers and reduces by itself.

weft.mesh @mesh = <["dp"=2, "mb"=2]>

// CHECK-LABEL: func @step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// ONCE:      %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0]
// ONCE:      %[[G:.*]] = weft.all_gather %[[W]]
// ONCE:      %[[T:.*]] = arith.negf %[[G]]
// ONCE:      %[[Y0:.*]] = weft.matmul %[[X0]], %[[T]]
// ONCE:      %[[B0:.*]] = weft.matmul %[[Y0]], %[[G]]
// ONCE:      %[[D0:.*]] = weft.matmul %[[X0]], %[[B0]]
// ONCE:      %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0]
// ONCE-NOT:  weft.all_gather
// ONCE:      %[[Y1:.*]] = weft.matmul %[[X1]], %[[T]]
// ONCE:      %[[B1:.*]] = weft.matmul %[[Y1]], %[[G]]
// ONCE:      %[[D1:.*]] = weft.matmul %[[X1]], %[[B1]]
// ONCE:      %[[S:.*]] = linalg.generic {{.*}} ins(%[[D0]], %[[D1]] : tensor<8x8xf32>
// ONCE:      %[[R:.*]] = weft.reduce_scatter sum %[[S]]
// ONCE:      return %[[R]]

// AGAIN:     %[[F0:.*]] = weft.all_gather %[[W]]
// AGAIN:     %[[T0:.*]] = arith.negf %[[F0]]
// AGAIN:     %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0]
// AGAIN:     %[[Y0:.*]] = weft.matmul %[[X0]], %[[T0]]
// AGAIN:     %[[G0:.*]] = weft.all_gather %[[W]]
// AGAIN:     %[[B0:.*]] = weft.matmul %[[Y0]], %[[G0]]
// AGAIN:     %[[D0:.*]] = weft.matmul %[[X0]], %[[B0]]
// AGAIN:     %[[R0:.*]] = weft.reduce_scatter sum %[[D0]]
// AGAIN:     %[[F1:.*]] = weft.all_gather %[[W]]
// AGAIN:     %[[T1:.*]] = arith.negf %[[F1]]
// AGAIN:     %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0]
// AGAIN:     %[[Y1:.*]] = weft.matmul %[[X1]], %[[T1]]
// AGAIN:     %[[G1:.*]] = weft.all_gather %[[W]]
// AGAIN:     %[[B1:.*]] = weft.matmul %[[Y1]], %[[G1]]
// AGAIN:     %[[D1:.*]] = weft.matmul %[[X1]], %[[B1]]
// AGAIN:     %[[R1:.*]] = weft.reduce_scatter sum %[[D1]]
// AGAIN:     %[[S:.*]] = linalg.generic {{.*}} ins(%[[R0]], %[[R1]] : tensor<4x8xf32>
// AGAIN:     return %[[S]]
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#transposed = affine_map<(m, n, k) -> (k, m)>
#result = affine_map<(m, n, k) -> (m, n)>
func.func @step(%w: tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %x: tensor<2x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>})
  -> (tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
  %0 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = arith.negf %0 : tensor<8x8xf32>
  %2 = weft.matmul %x, %1 {indexing_maps = [#rows, #columns, #result]} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %3 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %4 = weft.matmul %2, %3 {indexing_maps = [#rows, #columns, #result]} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %5 = weft.matmul %x, %4 {indexing_maps = [#transposed, #columns, #result]} : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
  %6 = weft.reduce_scatter sum %5 on @mesh <{"dp"}> dims [0] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %7 = weft.all_reduce sum %6 on @mesh <{"mb"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// The sum of microbatches may also stand first: with weights that are gathered
// again each gradient is reduced to parts before it, all the same.

// CHECK-LABEL: func @sum_first
// ONCE:      linalg.generic {{.*}} : tensor<8x8xf32>
// ONCE:      weft.reduce_scatter sum
// ONCE-NOT:  weft.reduce_scatter
// AGAIN:     %[[R0:.*]] = weft.reduce_scatter sum
// AGAIN:     %[[R1:.*]] = weft.reduce_scatter sum
// AGAIN:     linalg.generic {{.*}} ins(%[[R0]], %[[R1]] : tensor<4x8xf32>
// CHECK:     return
func.func @sum_first(%x: tensor<2x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>})
  -> (tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
  %0 = weft.matmul %x, %x {indexing_maps = [#transposed, #columns, #result]} : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
  %1 = weft.all_reduce sum %0 on @mesh <{"mb"}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = weft.reduce_scatter sum %1 on @mesh <{"dp"}> dims [0] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
