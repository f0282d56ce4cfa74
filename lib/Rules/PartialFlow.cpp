// SPDX-License-Identifier: Apache-2.0

// Which ops commute with the combination of contributions, so that the
// combination may wait.

#include "weft/Rules/ShardingRule.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// What each operand is to the op.
SmallVector<PartialState>
getContributions(Operation *op, ArrayRef<bool> isPartial, Reduction kind) {
  SmallVector<PartialState> contributions;
  for (auto [operand, partial] :
       llvm::zip_equal(op->getOperands(), isPartial)) {
    bool isZero = !partial && kind == Reduction::Sum &&
                  isSafeInit(getSplatElement(operand), kind);
    contributions.push_back(partial  ? PartialState::Partial
                            : isZero ? PartialState::Zero
                                     : PartialState::Whole);
  }
  return contributions;
}

/// Says whether contributions are rounded numbers whose combination has an
/// order: then it may not wait for an op that rounds again.
bool haveOrder(Operation *op, ArrayRef<bool> isPartial, Reduction kind) {
  if (isIdempotent(kind) || !getInvariance(op))
    return false;
  return llvm::any_of(llvm::zip(op->getOperands(), isPartial), [](auto entry) {
    auto [operand, partial] = entry;
    return partial && isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  });
}

} // namespace

bool mlir::weft::keepsPartial(Operation *op, ArrayRef<bool> isPartial,
                              Reduction kind) {
  auto own = dyn_cast<ShardingRuleOpInterface>(op);
  if (!own)
    return false;
  SmallVector<PartialState> operands = getContributions(op, isPartial, kind);
  return haveOrder(op, isPartial, kind) ? own.movesPartial(operands)
                                        : own.keepsPartial(operands, kind);
}
