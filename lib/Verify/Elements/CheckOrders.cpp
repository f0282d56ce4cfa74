// SPDX-License-Identifier: Apache-2.0

// An order on an op that reduces nothing says nothing of any element, so that
// the proofs, which compare elements, would pass it over.

#include "weft/Dialect/Weft/IR/Attention.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Verify/Elements/Canonicalization.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::weft;

/// Whether a body has as many ops of several operands as join so many leaves.
static bool joins(linalg::LinalgOp op, int64_t leaves) {
  auto isOfSeveral = [](Operation &inner) {
    return inner.getNumOperands() > 1 && inner.getNumResults() > 0;
  };
  return llvm::count_if(*op.getBlock(), isOfSeveral) >= leaves - 1;
}

/// Whether an op combines several elements of an operand, or, as what fusion
/// makes of a join, operands. In a body it is the scalar op of a join.
static bool combines(Operation *op, OrderAttr order) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() > 0 ||
           joins(linalgOp, order.getLeaves());
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.getReduction().has_value();
  return isa_and_present<linalg::LinalgOp>(op->getParentOp()) ||
         isa_and_present<rt::WeftRTDialect>(op->getDialect()) ||
         isa<MatmulOp, ScatterAddOp, AttentionOp, AttentionGradOp>(op);
}

LogicalResult mlir::weft::checkOrders(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (!order || combines(op, order))
      return WalkResult::advance();
    op->emitOpError("has the order ") << order << ", but combines nothing";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
