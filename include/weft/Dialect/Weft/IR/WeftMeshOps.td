// SPDX-License-Identifier: Apache-2.0

// The mesh, and ops that say or ask where a value lies on it.

#ifndef WEFT_DIALECT_WEFT_IR_MESHOPS_TD
#define WEFT_DIALECT_WEFT_IR_MESHOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Interfaces/PartitionOpInterface.td"
include "weft/Interfaces/ShardingRuleOpInterface.td"

def Weft_MeshOp : Weft_Op<"mesh", [Symbol]> {
  let summary = "name the mesh of ranks";
  let description = [{
    The mesh that shardings and collectives refer to.

    Constraints:
    1. (c1) it is the only mesh of its module.

    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Weft_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
  let hasVerifier = 1;
}

def Weft_ShardOp : Weft_Op<"shard", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<Weft_PartitionOpInterface>,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["keepsPartial", "movesPartial"]>]> {
  let summary = "fix the sharding of a value";
  let description = [{
    The user's word: the value has this sharding. Propagation starts from it
    and never changes its closed dimensions.

    Constraints:
    1. (c1) the sharding is not partial.
    2. (c2) it is valid for the value: known axes, none twice, a list of axes
       per dimension.

    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = weft.shard %x to <@mesh, [{"dp"}, {"tp"} ]> : tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Weft_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `to` $sharding attr-dict `:` type($input)";
}

def Weft_ReshardOp : Weft_Op<"reshard", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "change the sharding of a value";
  let description = [{
    The value stays the same; where its parts lie changes, and contributions
    along axes that leave the partial state are combined. Partitioning turns it
    into the collectives that move the fewest bytes.

    Constraints:
    1. (c1) the partial axes of `to` are among those of `from`, of one kind.
    2. (c2) both shardings are valid for the value.

    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = weft.reshard %x from <@mesh, [{"dp"}, {} ], partial = sum {"tp"}>
                           to <@mesh, [{"dp"}, {"tp"} ]> : tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Weft_ShardingAttr:$from,
                       Weft_ShardingAttr:$to);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `from` $from `to` $to attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Weft_AxisIndexOp : Weft_Op<"axis_index", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the rank's position along axes";
  let description = [{
    The mixed-radix number of this rank's coordinates along `axes`, first axis
    major. It is the index of the chunk that the rank holds of a dimension that
    is sharded over these axes.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.

    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f() -> index {
      %0 = weft.axis_index @mesh <{"dp", "tp"}>
      return %0 : index
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh $axes attr-dict";
}

def Weft_PartOffsetOp : Weft_Op<"part_offset", [Pure, SameOperandsAndResultType]> {
  let summary = "where a part of a dimension begins";
  let description = [{
    The operand. `weft-accumulate` writes it where a microbatch has one element
    of a dimension whose index an op reads: that index is then a constant, which
    folds with others, and proofs could not tell which dimension it is of.
    `weft-prepare-kernels` replaces it by its operand.

    Example:
    ```mlir
    func.func @f() -> index {
      %c3 = arith.constant 3 : index
      %0 = weft.part_offset %c3
      return %0 : index
    }
    ```
  }];
  let arguments = (ins Index:$offset);
  let results = (outs Index:$result);
  let assemblyFormat = "$offset attr-dict";
}

#endif // WEFT_DIALECT_WEFT_IR_MESHOPS_TD
