// RUN: weft-opt --weft-order-serial-axis=axis=mb %s | FileCheck %s
// RUN: not weft-opt --weft-order-serial-axis=axis=ep %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// RUN: not weft-opt --weft-order-serial-axis %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt --weft-accumulate %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/tp"=2]>$/&  loc(unknown)/' %s | not weft-opt --weft-accumulate - 2>&1 | FileCheck %s --check-prefix=PLACE

// UNKNOWN: error: 'weft.mesh' op has no axis 'ep' to go through serially: #weft.mesh<["mb"=2, "dp"=2, "tp"=2]>

weft.mesh @mesh = <["mb"=2, "dp"=2, "tp"=2]>

// NONE: order-serial-axis.mlir:[[@LINE-2]]:1: error: 'weft.mesh' op is not told which of its axes to go through serially: expected the option axis, as in axis=mb for #weft.mesh<["mb"=2, "dp"=2, "tp"=2]>
// A mesh of which nobody says where it is.
// PLACE: <stdin>:{{.*}}: error: 'weft.mesh' op is not told which

// What a rank holds of all microbatches is one part of the batch.
// CHECK: func @f(%{{.*}}: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {"tp", ?}]>},
// CHECK-SAME: %{{.*}}: tensor<8xf32>)
// CHECK-SAME: -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp", "dp", "mb"}, {}]>})
// CHECK: weft.shard %{{.*}} to <@mesh, [{"dp", "mb", ?}, {}]>
func.func @f(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"}, {"tp", ?}]>}, %y: tensor<8xf32>)
  -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp", "mb", "dp"}, {}]>}) {
  %0 = weft.shard %x to <@mesh, [{"mb", "dp", ?}, {}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
