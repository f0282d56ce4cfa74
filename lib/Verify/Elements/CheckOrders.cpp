// SPDX-License-Identifier: Apache-2.0

// An order on an op that reduces nothing says nothing of any element, so that
// the proofs, which compare elements, would pass it over.

#include "weft/Dialect/Weft/IR/Attention.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Verify/Elements/Canonicalization.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::weft;

/// Whether a body has as many additions or products of floats as join so many
/// leaves.
static bool joins(linalg::LinalgOp op, int64_t leaves) {
  auto isJoin = [](Operation &inner) {
    return isa<arith::AddFOp, arith::MulFOp>(inner);
  };
  return leaves > 1 && llvm::count_if(*op.getBlock(), isJoin) >= leaves - 1;
}

/// Whether an op combines several elements of an operand, or, as what fusion
/// makes of a join, operands. Ops of bodies do so for the op around them, which
/// says how.
static bool combines(Operation *op, OrderAttr order) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() > 0 ||
           joins(linalgOp, order.getLeaves());
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.getReduction().has_value();
  return isa<MatmulOp, AttentionOp, AttentionGradOp, rt::GemmOp,
             rt::AttentionOp>(op);
}

/// Whether an op does what an order says beside its leaves: lanes are of the
/// last loop of a reduction, and only products round each leaf.
static LogicalResult checkFields(Operation *op, OrderAttr order) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  bool hasLanes =
      linalgOp && !linalgOp.getIteratorTypesArray().empty() &&
      linalgOp.getIteratorTypesArray().back() == utils::IteratorType::reduction;
  if (order.getLanes() != 1 && !hasLanes)
    return op->emitOpError("has the order ")
           << order
           << ", but no last loop that is a reduction, which has lanes";
  if (order.getRounded() && !isa<MatmulOp, rt::GemmOp>(op))
    return op->emitOpError("has the order ")
           << order << ", but only contractions round their leaves";
  return success();
}

LogicalResult mlir::weft::checkOrders(ModuleOp module) {
  auto name = StringAttr::get(module.getContext(), WeftDialect::kOrderAttr);
  WalkResult result = module.walk([&](Operation *op) {
    DictionaryAttr attrs = op->getDiscardableAttrDictionary();
    auto order = attrs.empty() ? OrderAttr() : attrs.getAs<OrderAttr>(name);
    if (!order)
      return WalkResult::advance();
    if (combines(op, order))
      return WalkResult(checkFields(op, order));
    op->emitOpError("has the order ") << order << ", but combines nothing";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
