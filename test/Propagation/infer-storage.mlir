// RUN: weft-opt %s --weft-infer-storage --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-infer-storage=infer=false --split-input-file | FileCheck %s --check-prefix=OFF

// fsdp shards tokens, so on the donated weight it is a storage axis; tp is not.
// The result takes the sharding of the argument that is donated to it.

weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>
// CHECK-LABEL: func @donated
// CHECK-SAME: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>}
// CHECK-SAME: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>}
// CHECK-SAME: -> (tensor<64x32xf32> {weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>})
// OFF-LABEL: func @donated
// OFF-SAME: {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}]>}
// OFF-SAME: {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>}
// OFF-SAME: -> (tensor<64x32xf32> {weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}]>})
func.func @donated(%w: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}]>},
                   %tokens: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>})
    -> (tensor<64x32xf32> {weft.alias = 0 : index}) {
  return %w : tensor<64x32xf32>
}

// -----

// A gradient with the weight's type and sharding tells that it is a weight;
// the gradient itself is not stored, its sharding is the user's.

weft.mesh @mesh = <["dp"=2]>
// CHECK-LABEL: func @gradient
// CHECK-SAME: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}], storage = {"dp"}>}
// CHECK-SAME: tensor<8x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}
// CHECK-SAME: -> (tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>})
// OFF-LABEL: func @gradient
func.func @gradient(%w: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>},
                    %x: tensor<8x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>}) {
  return %w : tensor<64x32xf32>
}

// -----

// What the user says about storage stays. A frozen weight, sharded over tp, is
// no batch.

weft.mesh @mesh = <["dp"=2, "tp"=2]>
// CHECK-LABEL: func @explicit
// CHECK-SAME: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}], storage = {"tp"}>}
// CHECK-SAME: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}
// CHECK-SAME: tensor<32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}
// OFF-LABEL: func @explicit
func.func @explicit(%w: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}], storage = {"tp"}>},
                    %v: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                    %frozen: tensor<32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>},
                    %tokens: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<64x32xf32> {weft.alias = 0 : index}, tensor<64x32xf32> {weft.alias = 1 : index}) {
  return %w, %v : tensor<64x32xf32>, tensor<64x32xf32>
}
