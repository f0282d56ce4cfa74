// SPDX-License-Identifier: Apache-2.0

// Ops that weft does not know. One is what somebody adds who reads only the
// documents; the others are wrong on purpose.

#ifndef WEFT_TEST_LIB_TESTOPS_TD
#define WEFT_TEST_LIB_TESTOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/CollectiveOpInterface.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Interfaces/CostOpInterface.td"
include "weft/Interfaces/PartitionOpInterface.td"
include "weft/Interfaces/ShardingRuleOpInterface.td"

def WeftTest_Dialect : Dialect {
  let name = "weft_test";
  let cppNamespace = "::mlir::weft::test";
  let summary = "ops for tests of weft's op interfaces";
}

def WeftTest_WeightedSumOp : Op<WeftTest_Dialect, "weighted_sum", [Pure,
    DeclareOpInterfaceMethods<Weft_CostOpInterface>,
    DeclareOpInterfaceMethods<Weft_PartitionOpInterface>,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["keepsPartial", "getLoopSizes", "getReductionLoops", "needsOrder"]>]> {
  let summary = "add up each row, weighted";
  let description = [{
    `result[i]` is the sum over j of `x[i, j] * weights[j]`.

    Example:
    ```
    %0 = weft_test.weighted_sum %x, %w : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weights);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `,` $weights attr-dict `:` type($x) `,` type($weights) `->` type($result)
  }];
}

def WeftTest_FlawedRuleOp : Op<WeftTest_Dialect, "flawed_rule", [Pure,
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["getLoopSizes", "getReductionLoops", "needsOrder"]>]> {
  let summary = "an op whose sharding rule has the flaw that it names";
  let arguments = (ins AnyRankedTensor:$x, StrAttr:$flaw);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$flaw $x attr-dict `:` type($x) `->` type($result)";
}

def WeftTest_FlawedCollectiveOp : Op<WeftTest_Dialect, "flawed_collective",
    [Weft_CollectiveOpInterface]> {
  let summary = "a collective of any kind that reduces, gathers and scatters";
  let arguments = (ins StrAttr:$does, UnitAttr:$reduces,
                       AnyRankedTensor:$input, FlatSymbolRefAttr:$mesh,
                       Weft_AxesAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gathered_dims,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$scattered_dims,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $does $input `on` $mesh $axes attr-dict `:` type($input) `->` type($output)
  }];
  let extraClassDeclaration = [{
    ::mlir::weft::CollectiveKind getCollectiveKind() {
      return *::mlir::weft::symbolizeCollectiveKind(getDoes());
    }
    std::optional<::mlir::weft::ReduceKind> getReduction() {
      return getReduces() ? std::optional(::mlir::weft::ReduceKind::Sum)
                          : std::nullopt;
    }
  }];
}

#endif // WEFT_TEST_LIB_TESTOPS_TD
