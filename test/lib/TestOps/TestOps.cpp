// SPDX-License-Identifier: Apache-2.0

// What the test ops say by way of weft's interfaces.

#include "TestOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::test;

#include "TestDialect.cpp.inc"

#define GET_OP_CLASSES
#include "TestOps.cpp.inc"

void WeftTestDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "TestOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// weighted_sum
//===----------------------------------------------------------------------===//

std::optional<ShardingRule> WeightedSumOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int> loops = builder.addAll(getTensorShape(getX()));
  builder.rule.factors[loops[1]].kind = FactorKind::Reduction;
  builder.rule.order.emplace();
  builder.rule.order->loops = {loops[1]};
  builder.putAll(builder.rule.operands[0], loops);
  builder.put(builder.rule.operands[1][0], loops[1]);
  builder.put(builder.rule.results[0][0], loops[0]);
  return builder.rule;
}

SmallVector<int64_t> WeightedSumOp::getLoopSizes() {
  return SmallVector<int64_t>(getTensorShape(getX()));
}

SmallVector<int> WeightedSumOp::getReductionLoops() { return {1}; }

bool WeightedSumOp::needsOrder() { return true; }

bool WeightedSumOp::keepsPartial(ArrayRef<PartialState> operands,
                                 Reduction kind) {
  return kind == Reduction::Sum && (operands[0] == PartialState::Partial) !=
                                       (operands[1] == PartialState::Partial);
}

LogicalResult WeightedSumOp::partition(LocalBuilder &local) {
  auto mask = [&](Value value, ArrayRef<DimCut> cuts) {
    Type element = getElementTypeOrSelf(value.getType());
    return local.maskPadding(getLoc(), local.getLocal(value), cuts,
                             local.builder.getZeroAttr(element));
  };
  DimCut summed = local.getCut(getWeights(), 0);
  Value x = mask(getX(), {DimCut(), summed});
  Value weights = mask(getWeights(), {summed});
  local.cloneLocal(*this)->setOperands({x, weights});
  return success();
}

std::optional<OpWork> WeightedSumOp::getWork() {
  OpWork work;
  work.bytesRead = double(getShapedBytes(getX().getType()) +
                          getShapedBytes(getWeights().getType()));
  work.bytesWritten = double(getShapedBytes(getType()));
  work.operations = 2 * double(getX().getType().getNumElements());
  return work;
}

//===----------------------------------------------------------------------===//
// Flaws
//===----------------------------------------------------------------------===//

std::optional<ShardingRule> FlawedRuleOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int> loops = builder.addAll(getTensorShape(getX()));
  builder.putAll(builder.rule.operands[0], loops);
  builder.rule.results[0] = builder.rule.operands[0];
  if (getFlaw() == "no operands")
    builder.rule.operands.clear();
  else if (getFlaw() == "one dim")
    builder.rule.operands[0].resize(1);
  else if (getFlaw() == "no such factor")
    builder.rule.operands[0][1] = {7};
  else if (getFlaw() == "size")
    std::swap(builder.rule.operands[0][0], builder.rule.operands[0][1]);
  else if (getFlaw() == "init")
    builder.rule.inits = {3};
  else if (getFlaw() == "other order")
    builder.rule.order = {1, {0}};
  return builder.rule;
}

SmallVector<int64_t> FlawedRuleOp::getLoopSizes() {
  return SmallVector<int64_t>(getTensorShape(getX()));
}

SmallVector<int> FlawedRuleOp::getReductionLoops() {
  return {getFlaw() == "no such loop" ? 2 : 1};
}

/// What is ordered is the flaw of these.
bool FlawedRuleOp::needsOrder() {
  return llvm::is_contained({"no order", "other order", "no such loop"},
                            getFlaw());
}
