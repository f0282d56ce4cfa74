// SPDX-License-Identifier: Apache-2.0

// The passes from the global to the local phase.

#ifndef WEFT_PARTITION_PASSES_TD
#define WEFT_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"weft-partition", "::mlir::ModuleOp"> {
  let summary = "turn the explicit global module into the program of one rank";
  let description = [{
    Every value gets the type of the part that one rank holds; every
    weft.reshard becomes the collectives of the cheapest plan. Where the rank's
    position matters (linalg.index, sharded tables, uneven dimensions that are
    summed) it is computed by weft.axis_index. Arguments and results keep
    their sharding and get their global type as 'weft.global_type'.

    Example: a reshard from parts to the whole is an all_gather.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"} ]>})
        -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{} ]>}) {
      %0 = weft.reshard %x from <@mesh, [{"tp"} ]> to <@mesh, [{} ]>
           {weft.shardings = [#weft.sharding<@mesh, [{} ]>]} : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    `weft-opt --weft-partition` makes of it:
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"} ]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{} ]>}) {
      %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"serial", "serial", "std::string", "\"\"",
           "the axis whose parts a rank computes one after the other: sums over "
           "it are done before ranks move them">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyLocalPass : Pass<"weft-verify-local", "::mlir::ModuleOp"> {
  let summary = "check that nothing is left to partition";
  let description = [{
    Fails on weft.shard, weft.reshard and 'weft.shardings', on types that are
    not static, on a sharding at a function's border without its global type,
    and on an order that does not fit its op: leaves that do not divide what is
    summed, or that are not one for each member of a collective's group.

    Example: a reshard that was left.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = weft.reshard %x from <@mesh, [{"tp"} ]> to <@mesh, [{} ]> : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    `weft-opt --weft-verify-local` refuses it:
    ```text
    error: 'weft.reshard' op is not allowed in phase 'local'
    ```
  }];
}

#endif // WEFT_PARTITION_PASSES_TD
