// SPDX-License-Identifier: Apache-2.0

// What weft.optimization_barrier says of itself.

#include "weft/Dialect/Weft/IR/WeftDialect.h"

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
