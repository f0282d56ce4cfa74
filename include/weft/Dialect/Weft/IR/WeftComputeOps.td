// SPDX-License-Identifier: Apache-2.0

// Compute that linalg cannot say well: contractions with a declared
// accumulator, and row lookups with their gradient.

#ifndef WEFT_DIALECT_WEFT_IR_COMPUTEOPS_TD
#define WEFT_DIALECT_WEFT_IR_COMPUTEOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Interfaces/CostOpInterface.td"
include "weft/Interfaces/PartitionOpInterface.td"
include "weft/Interfaces/ShardingRuleOpInterface.td"

def Weft_MatmulOp : Weft_Op<"matmul", [Pure,
    DeclareOpInterfaceMethods<Weft_CostOpInterface, ["isComputedInPlace"]>,
    DeclareOpInterfaceMethods<Weft_PartitionOpInterface>,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["keepsPartial", "getComputeClass", "getLoopSizes", "getReductionLoops",
         "needsOrder"]>]> {
  let summary = "contract two tensors";
  let description = [{
    `result[rmap(i)] = sum over the dims that are not in rmap of
    lhs[lmap(i)] * rhs[rmap(i)]`, with the three maps of `indexing_maps` over
    one iteration space. A dimension is *batch* if it is in all three, *M* if it
    is in lhs and result, *N* if it is in rhs and result, *K* if it is in lhs
    and rhs only. Products are summed in f32 (in f64 if the operands are f64)
    and rounded to the result's type once.

    With `scales`, one for each operand, two more maps follow, and the elements
    of an operand are multiplied with those of its scale first, exactly: a scale
    that has not all loops of its operand is one for a block. Such a product is
    written as one of weft.dequantize by weft-lower-quantization.

    Constraints:
    1. (c1) three maps, with scales five, each a projected permutation without constants, over
       the same number of dims and no symbols, one result per tensor dimension.
    2. (c2) each dim has one size in all tensors that it indexes.
    3. (c3) each dim is in lhs's or rhs's map; a dim that is not in the
       result's is summed.
    4. (c4) element types: floating point; the result is f64 exactly if both
       operands are.
    5. (c5) scales: none or two, f32, f8E8M0FNU or f8E4M3FN, of operands that are
       f8E4M3FN, f8E5M2 or f4E2M1FN; each loop of a scale is one of its operand.

    Example:
    ```mlir
    func.func @f(%x: tensor<8x128x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x128x32xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [
             affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>,
             affine_map<(b, s, n, k) -> (b, s, n)>]}
           : tensor<8x128x64xbf16>, tensor<64x32xbf16> -> tensor<8x128x32xf32>
      return %0 : tensor<8x128x32xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       Variadic<AnyRankedTensor>:$scales,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`scales` $scales^ `:` type($scales))? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs,
                   "::mlir::Value":$rhs, "::mlir::ArrayAttr":$maps), [{
      build($_builder, $_state, result, lhs, rhs, ::mlir::ValueRange(), maps);
    }]>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineMap getLhsMap();
    ::mlir::AffineMap getRhsMap();
    ::mlir::AffineMap getResultMap();
    /// Of the scale of lhs (0) or rhs (1), where there are scales.
    ::mlir::AffineMap getScaleMap(unsigned operand);
  }];
}

def Weft_TakeOp : Weft_Op<"take", [Pure,
    DeclareOpInterfaceMethods<Weft_CostOpInterface>,
    DeclareOpInterfaceMethods<Weft_PartitionOpInterface>,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["keepsPartial", "getComputeClass"]>]> {
  let summary = "look up slices of a table";
  let description = [{
    The iteration space is the result's index space.
    `result[i] = table[table_map(i) with the looked-up index inserted at axis]`,
    where the looked-up index is `indices[index_map(i)] - base` (base: 0 if
    absent). An index outside the table gives a zero that no sum changes by: -0.0
    of floats, else 0. A rank that holds rows from `base` on of a sharded table
    gets its contribution this way; the sum over ranks is the whole result, zeros
    with their signs.

    Constraints:
    1. (c1) the maps are projected permutations without constants over the
       result's dims; `table_map` has one result per table dimension but `axis`.
    2. (c2) each dim has one size in all tensors that it indexes, and each dim
       of the result is in one of the maps.
    3. (c3) element types of table and result are equal; indices are signless
       integers.

    Example: embedding lookup.
    ```mlir
    func.func @f(%table: tensor<1024x64xf32>, %tokens: tensor<8x128xi32>) -> tensor<8x128x64xf32> {
      %0 = weft.take %table, %tokens {axis = 0 : i64,
             table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
           : tensor<1024x64xf32>, tensor<8x128xi32> -> tensor<8x128x64xf32>
      return %0 : tensor<8x128x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices,
                       Optional<Index>:$base, I64Attr:$axis,
                       AffineMapAttr:$table_map, AffineMapAttr:$index_map);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $table `,` $indices (`base` $base^)? attr-dict
    `:` type($table) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Weft_ScatterAddOp : Weft_Op<"scatter_add", [Pure,
    AllTypesMatch<["init", "result"]>,
    DeclareOpInterfaceMethods<Weft_CostOpInterface, ["isComputedInPlace"]>,
    DeclareOpInterfaceMethods<Weft_PartitionOpInterface>,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["keepsPartial", "getComputeClass"]>]> {
  let summary = "add slices into rows of a tensor, the gradient of take";
  let description = [{
    The iteration space is the index space of `updates`.
    `result = init; result[table_map(i) with the index inserted at axis] +=
    updates[i]` for each i in row-major order, where the index is
    `indices[index_map(i)] - base`. An index outside `init` is dropped. Sums are
    f32 for narrower floating-point types, rounded once at the end.

    Constraints: (c1) to (c3) as in weft.take, with `init` for the table and
    `updates` for the result; (c4) init and result have one type.

    Example: gradient of an embedding lookup.
    ```mlir
    func.func @f(%init: tensor<1024x64xf32>, %tokens: tensor<8x128xi32>, %g: tensor<8x128x64xf32>) -> tensor<1024x64xf32> {
      %0 = weft.scatter_add %init, %tokens, %g {axis = 0 : i64,
             table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
           : tensor<1024x64xf32>, tensor<8x128xi32>, tensor<8x128x64xf32>
      return %0 : tensor<1024x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$init, AnyRankedTensor:$indices,
                       AnyRankedTensor:$updates, Optional<Index>:$base,
                       I64Attr:$axis, AffineMapAttr:$table_map,
                       AffineMapAttr:$index_map);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $init `,` $indices `,` $updates (`base` $base^)? attr-dict
    `:` type($init) `,` type($indices) `,` type($updates)
  }];
  let hasVerifier = 1;
}

def Weft_OptimizationBarrierOp : Weft_Op<"optimization_barrier", [Pure,
    RangedTypesMatchWith<"results have the types of the inputs",
                         "inputs", "results", "$_self">,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface>]> {
  let summary = "values as they are, to be computed with again";
  let description = [{
    Each result is the input at its place. Two things are promised about the
    order of the step: what is computed from a result is not taken to be what was
    computed from its input before, so that the latter need not be kept; and it is
    computed when all inputs are there. Both are what StableHLO's op of this name
    is used for: `jax.checkpoint` puts one between the forward pass and what the
    backward pass computes again.

    The op is gone once the step is scheduled; it takes no time and no memory.

    With `offload` a result is the input after it has been in the host's memory:
    weft-offload puts the two copies in its place.

    Constraints:
    1. (c1) at least one input.
    2. (c2) with `offload`, one input.

    Example: the backward pass computes `tanh` again, after it has the gradient.
    ```mlir
    func.func @f(%x: tensor<8x4xf32>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0:2 = weft.optimization_barrier %x, %g : tensor<8x4xf32>, tensor<8x4xf32>
      %1 = math.tanh %0#0 : tensor<8x4xf32>
      %2 = arith.mulf %1, %0#1 : tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, UnitAttr:$offload);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_WEFT_IR_COMPUTEOPS_TD
