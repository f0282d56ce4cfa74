// RUN: weft-opt %s --weft-propagate-shardings --weft-insert-reshards --remarks-filter="weft-order" 2>&1 >/dev/null | FileCheck %s

// How each sum with an order is cut, or why it is not.

// CHECK: 'weft.matmul' is cut over {"tp"}: each rank sums 4 of 8 leaves
// CHECK-SAME: bytes=128
// CHECK: 'weft.matmul' gathers what it sums: the ranks' parts are no subtrees of its 8 leaves
// CHECK-SAME: bytes=3072
// CHECK: 'weft.matmul' gathers what it sums: that costs less than to join parts
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
               %w: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
               %y: tensor<4x8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}, {}]>},
               %g: tensor<4x8x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}, {}]>},
               %a: tensor<256x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
               %b: tensor<8x256xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
          tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
          tensor<256x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<4x512xf32>, tensor<512x8xf32> -> tensor<4x8xf32>
    %1 = weft.matmul %y, %g {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, j, k) -> (j, k, m)>, affine_map<(m, n, j, k) -> (j, k, n)>, affine_map<(m, n, j, k) -> (m, n)>]}
         : tensor<4x8x16xf32>, tensor<4x8x32xf32> -> tensor<16x32xf32>
    %2 = weft.matmul %a, %b {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<256x8xf32>, tensor<8x256xf32> -> tensor<256x256xf32>
    return %0, %1, %2 : tensor<4x8xf32>, tensor<16x32xf32>, tensor<256x256xf32>
  }
}
