// RUN: weft-opt %s --weft-make-one-rank | FileCheck %s

// The clone has one rank along the axes that must not matter; parts of these are
// no axes any more.

// CHECK: weft.mesh @mesh = <["dp"=3, "tp"=4]>
// CHECK: func.func @f
// CHECK-SAME: {"tp":(1)2}
// CHECK: module @one_rank
// CHECK: weft.mesh @mesh = <["dp"=3, "tp"=1]>
// CHECK: func.func @f(%{{.*}}: tensor<8x2xf32> {weft.global_type = tensor<8x6xf32>
// CHECK-NOT: "tp"
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=3, "tp"=4]>
  func.func @f(%x: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {"dp"} ]>})
      -> (tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {"dp"} ]>}) {
    return %x : tensor<8x6xf32>
  }
}
