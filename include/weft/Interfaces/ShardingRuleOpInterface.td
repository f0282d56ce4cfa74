// SPDX-License-Identifier: Apache-2.0

// How an op may be cut over a mesh.

#ifndef WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Weft_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::weft";
  let description = [{
    The sharding rule of an op: which dimensions of its operands and results are
    one dimension of its iteration space (a factor), which of them are reduced,
    and which operands may be contributions that are combined later. Propagation,
    the choice of shardings, resharding and partitioning follow from it. An op
    without it is replicated: all its tensors are whole on every rank. Ops of
    upstream dialects have it as external models (lib/Rules).

    Sizes are in elements of global tensors. The rule only says what the op
    means; the caller drops reductions that start from an init that is not
    neutral, and fills in the leaves of ordered sums.

    The verifier asks for the rule after the op's own verifier: constraints (c1)
    to (c6) of verifyShardingRule.

    Example: an op that scales the rows of x (8x64) by s (8). Both dimensions are
    parallel, and of contributions to x or to s, not to both, the result is one.
    ```c++
    std::optional<ShardingRule> ScaleRowsOp::getShardingRule() {
      RuleBuilder builder(*this);
      SmallVector<int> loops = builder.addAll(getTensorShape(getX()));
      builder.putAll(builder.rule.operands[0], loops);
      builder.put(builder.rule.operands[1][0], loops[0]);
      builder.putAll(builder.rule.results[0], loops);
      return builder.rule;
    }
    bool ScaleRowsOp::keepsPartial(ArrayRef<PartialState> operands,
                                   Reduction kind) {
      return kind == Reduction::Sum && (operands[0] == PartialState::Partial) !=
                                           (operands[1] == PartialState::Partial);
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the rule; nullopt if this op cannot be sharded. It is only asked
      for if all shapes are static.
    }], "std::optional<::mlir::weft::ShardingRule>", "getShardingRule">,
    InterfaceMethod<[{
      Says whether the results are contributions of the same kind if some
      operands are, with nothing combined in between. `operands` has an entry
      per operand, at least one of them Partial. Zero is only told of sums.
    }], "bool", "keepsPartial",
      (ins "::llvm::ArrayRef<::mlir::weft::PartialState>":$operands,
           "::mlir::weft::Reduction":$kind), "", [{ return false; }]>,
    InterfaceMethod<[{
      Says whether each element of the results is an element of a contribution:
      nothing is rounded again. Implies keepsPartial, whatever the kind.
    }], "bool", "movesPartial",
      (ins "::llvm::ArrayRef<::mlir::weft::PartialState>":$operands), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Returns what the choice of shardings takes the op for.
    }], "::mlir::weft::ComputeClass", "getComputeClass", (ins), "",
      [{ return ::mlir::weft::ComputeClass::Other; }]>,
    InterfaceMethod<[{
      Returns the sizes of the iteration space's loops, in elements.
    }], "::llvm::SmallVector<int64_t>", "getLoopSizes", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
      Returns the loops that are reduced, major first, as positions in
      getLoopSizes.
    }], "::llvm::SmallVector<int>", "getReductionLoops", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
      Says whether the result shows in which order the loops of
      getReductionLoops are reduced: sums and products of floating-point numbers.
      Then the rule's `order` lists them, and in invariant programs the op gets
      a `weft.order`, which whatever it is lowered to has to keep.
    }], "bool", "needsOrder", (ins), "", [{ return false; }]>,
  ];
  let verify = [{
    if (!::mlir::weft::hasStaticTensors($_op))
      return ::mlir::success();
    auto concrete = ::llvm::cast<ConcreteOp>($_op);
    if (std::optional<::mlir::weft::ShardingRule> rule =
            concrete.getShardingRule())
      return ::mlir::weft::verifyShardingRule($_op, *rule);
    return ::mlir::success();
  }];
  let verifyWithRegions = 1;
}

#endif // WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_TD
