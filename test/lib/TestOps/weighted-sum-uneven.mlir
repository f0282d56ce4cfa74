// RUN: weft-test-opt %s --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding --weft-partition --weft-verify-local -cse -canonicalize | FileCheck %s

// The partitioning of an op that nothing in lib/ knows keeps padding out of its
// sum: of 10 columns a rank has 3, of which the last two of the last rank are
// padding.

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @uneven
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x3xf32>)
// CHECK: arith.select
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<3xf32>)
// CHECK: arith.select
// CHECK: weft_test.weighted_sum %[[X]], %[[W]] : tensor<8x3xf32>, tensor<3xf32> -> tensor<8xf32>
func.func @uneven(%x: tensor<16x10xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                  %w: tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %0 = weft_test.weighted_sum %x, %w : tensor<16x10xf32>, tensor<10xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
