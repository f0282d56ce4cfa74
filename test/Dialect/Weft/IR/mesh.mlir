// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

// CHECK: weft.mesh @mesh = <["dp"=2, "tp"=4]>
weft.mesh @mesh = <["dp"=2, "tp"=4]>

// A mesh of no axes is one rank.
// CHECK: weft.mesh @one = <[]>
module @inside {
  weft.mesh @one = <[]>
}

// CHECK: #weft.mesh_axis<"tp" = 4>, #weft.axis_ref<"tp":(2)2>, #weft.axes<{"dp", "tp":(1)2}>, #weft.dim_sharding<{"dp", ?}>, #weft.dim_sharding<{}>
func.func private @attributes() attributes {attrs = [#weft.mesh_axis<"tp" = 4>, #weft.axis_ref<"tp":(2)2>, #weft.axes<{"dp", "tp":(1)2}>, #weft.dim_sharding<{"dp", ?}>, #weft.dim_sharding<{}>]}

// CHECK-LABEL: func @shardings
// CHECK-SAME: weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp", "tp":(2)2}, {?}]>
// CHECK-SAME: #weft.sharding<@mesh, [{"dp"}, {"tp"}], storage = {"dp"}>
// CHECK-SAME: -> (tensor<8x8xf32> {weft.alias = 1 : index, weft.name = "y"})
func.func @shardings(%x: tensor<8x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp", "tp":(2)2}, {?}]>},
                     %y: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}], storage = {"dp"}>})
    -> (tensor<8x8xf32> {weft.name = "y", weft.alias = 1 : index}) {
  // CHECK: arith.addf %{{.*}} {weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = max {"dp"}>]}
  %0 = arith.addf %x, %y {weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = max {"dp"}>]} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// What one rank holds of an uneven dimension is a chunk of ceil(10 / 4).

// CHECK-LABEL: func @local
// CHECK-SAME: tensor<3xf32> {weft.global_type = tensor<10xf32>
func.func @local(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  return
}
