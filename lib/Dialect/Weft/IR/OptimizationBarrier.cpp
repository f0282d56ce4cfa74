// SPDX-License-Identifier: Apache-2.0

// What weft.optimization_barrier says of itself.

#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"

using namespace mlir;
using namespace mlir::weft;

LogicalResult OptimizationBarrierOp::verify() {
  // optimization_barrier_c1
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  // optimization_barrier_c2
  if (getOffload() && getInputs().size() != 1)
    return emitOpError("offloads ")
           << getInputs().size() << " values, expected one";
  return success();
}

/// Each input may be cut as it likes.
std::optional<ShardingRule> OptimizationBarrierOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [input, operand, result] :
       llvm::zip(getInputs(), builder.rule.operands, builder.rule.results)) {
    SmallVector<int> dims = builder.addAll(getTensorShape(input));
    builder.putAll(operand, dims);
    builder.putAll(result, dims);
  }
  return builder.rule;
}

void mlir::weft::dropUnused(OptimizationBarrierOp barrier) {
  SmallVector<Value> inputs, results;
  for (auto [input, result] :
       llvm::zip_equal(barrier.getInputs(), barrier.getResults()))
    if (!result.use_empty()) {
      inputs.push_back(input);
      results.push_back(result);
    }
  if (inputs.size() == barrier.getInputs().size())
    return;
  if (!inputs.empty()) {
    OpBuilder builder(barrier);
    // One that offloads holds one value.
    auto narrowed = OptimizationBarrierOp::create(
        builder, barrier.getLoc(), TypeRange(ValueRange(inputs)), inputs,
        /*offload=*/UnitAttr());
    for (auto [old, result] : llvm::zip_equal(results, narrowed.getResults()))
      old.replaceAllUsesWith(result);
  }
  barrier.erase();
}
