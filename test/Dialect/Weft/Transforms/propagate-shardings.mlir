// RUN: weft-opt %s -weft-propagate-shardings | FileCheck %s

// The batch axis flows from the argument through the contraction to the result;
// the weight's column axis becomes the result's.

weft.mesh @mesh = <["dp"=2, "tp"=2]>
// CHECK-LABEL: func.func @f
// CHECK: weft.matmul
// CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {"tp"}]>]
func.func @f(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<8x32xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
         affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
