// SPDX-License-Identifier: Apache-2.0

// A reduction is plain if it only adds to its accumulator, or multiplies it;
// others, as those that look for the place of a maximum, are chains in the
// order of their loops and nothing else.

#include "weft/Codegen/Fusion/Orders.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

bool mlir::weft::isJoin(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() != 0)
    return false;
  Block *body = linalgOp.getBlock();
  return op->hasAttr(WeftDialect::kOrderAttr) ||
         llvm::any_of(body->without_terminator(), [](Operation &inner) {
           return inner.hasAttr(WeftDialect::kOrderAttr);
         });
}

/// Says whether a sum starts from -0.0, which changes none of its elements: so
/// one of many is picked by adding it to such zeros.
static bool startsFromNegativeZero(Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getInputs()[0];
  return matchPattern(init, m_NegZeroFloat());
}

std::optional<Combiner> mlir::weft::getCombiner(linalg::LinalgOp op,
                                                unsigned result) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(result);
  BlockArgument accumulator = op.getRegionOutputArgs()[result];
  Operation *def = yielded.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock() || def->getNumOperands() != 2 ||
      !yielded.hasOneUse() || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != def)
    return std::nullopt;
  Combiner combiner{def, def->getOperand(def->getOperand(0) == accumulator),
                    TypedAttr()};
  OpBuilder builder(op.getContext());
  if (isa<arith::AddFOp>(def))
    combiner.identity = builder.getFloatAttr(
        yielded.getType(),
        startsFromNegativeZero(op.getDpsInits()[result]) ? -0.0 : 0.0);
  else if (std::optional<TypedAttr> neutral = arith::getNeutralElement(def))
    combiner.identity = *neutral;
  else
    return std::nullopt;
  return combiner;
}

bool mlir::weft::isOrderSensitive(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0)
    return false;
  auto yielded = op.getBlock()->getTerminator()->getOperands();
  return llvm::any_of(llvm::enumerate(yielded), [&](auto entry) {
    // An accumulator that is changed before it is compared shows the order.
    BlockArgument accumulator = op.getRegionOutputArgs()[entry.index()];
    Operation *def = entry.value().getDefiningOp();
    return isa<FloatType>(entry.value().getType()) &&
           !(isa_and_present<arith::MaximumFOp, arith::MaxNumFOp,
                             arith::MinimumFOp, arith::MinNumFOp>(def) &&
             accumulator.hasOneUse() && *accumulator.user_begin() == def);
  });
}

OrderAttr mlir::weft::getOrder(linalg::LinalgOp op) {
  return isOrderSensitive(op)
             ? op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr)
             : OrderAttr();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

bool isPlain(linalg::LinalgOp op) {
  return llvm::all_of(llvm::seq(op->getNumResults()), [&](unsigned i) {
    return getCombiner(op, i).has_value();
  });
}

LogicalResult checkOrder(linalg::LinalgOp op, OrderAttr order) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto iterators = op.getIteratorTypesArray();
  int64_t count = 1;
  for (auto [size, iterator] : llvm::zip(sizes, iterators))
    count *= iterator == utils::IteratorType::reduction ? size : 1;
  int64_t leaves = order.getLeaves(), lanes = order.getLanes();
  if (!isPlain(op) && (leaves != 1 || lanes != 1))
    return op->emitOpError()
           << "has an order of " << leaves << " leaves and " << lanes
           << " lanes, but is not a plain sum or product: expected 1 and 1";
  if (count % leaves != 0)
    return op->emitOpError() << "has an order of " << leaves
                             << " leaves, which do not divide the " << count
                             << " elements that it reduces";
  if (lanes == 1)
    return success();
  if (iterators.back() != utils::IteratorType::reduction)
    return op->emitOpError() << "has an order of " << lanes
                             << " lanes, but its last loop is parallel";
  int64_t run = sizes.back(), leaf = count / leaves;
  if (run != 0 && leaf != 0 && leaf % run != 0 && run % leaf != 0)
    return op->emitOpError()
           << "has an order of " << lanes << " lanes, but a leaf of " << leaf
           << " elements is neither whole runs of " << run
           << " elements nor a part of one";
  return success();
}

} // namespace

LogicalResult mlir::weft::checkOrders(func::FuncOp func) {
  auto module = func->getParentOfType<ModuleOp>();
  bool isInvariant = module && module->hasAttr(WeftDialect::kInvarianceAttr);
  auto failsFor = [&](Operation *op) {
    auto reduction = dyn_cast<linalg::LinalgOp>(op);
    bool needsOrder = reduction ? isOrderSensitive(reduction)
                                : isa<MatmulOp, AttentionOp, AttentionGradOp,
                                      rt::GemmOp, rt::AttentionOp>(op);
    if (!needsOrder)
      return false;
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (order)
      return reduction && failed(checkOrder(reduction, order));
    if (isInvariant)
      op->emitOpError("adds up floating-point numbers in an open order, but "
                      "the module is to be invariant");
    return isInvariant;
  };
  bool hasFailed = false;
  func.walk([&](Operation *op) { hasFailed |= failsFor(op); });
  return failure(hasFailed);
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

void mlir::weft::moveOrdersIntoBodies(func::FuncOp func) {
  func.walk([](linalg::LinalgOp op) {
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (!order)
      return;
    // All elements of runs of one element are in the first lane.
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (!sizes.empty() && sizes.back() == 1)
      order = OrderAttr::get(op.getContext(), order.getLeaves(), /*lanes=*/1,
                             order.getRounded());
    for (Operation &inner : op.getBlock()->without_terminator())
      inner.setAttr(WeftDialect::kOrderAttr, order);
    op->removeAttr(WeftDialect::kOrderAttr);
  });
}

void mlir::weft::moveOrdersOutOfBodies(func::FuncOp func) {
  func.walk([](linalg::LinalgOp op) {
    Attribute order;
    for (Operation &inner : op.getBlock()->without_terminator())
      if (Attribute own = inner.removeAttr(WeftDialect::kOrderAttr))
        order = own;
    if (order)
      op->setAttr(WeftDialect::kOrderAttr, order);
  });
}

void mlir::weft::makeUnitReductionsElementwise(func::FuncOp func) {
  func.walk([](linalg::GenericOp op) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    auto iterators = op.getIteratorTypesArray();
    if (!getOrder(op) ||
        llvm::any_of(llvm::zip(sizes, iterators), [](auto loop) {
          return std::get<1>(loop) == utils::IteratorType::reduction &&
                 std::get<0>(loop) != 1;
        }))
      return;
    OpBuilder builder(op.getContext());
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      std::optional<Combiner> combiner =
          getCombiner(cast<linalg::LinalgOp>(op.getOperation()), i);
      // A sum of -0 alone is +0, unless it starts from -0.
      if (!combiner || !isa<arith::AddFOp>(combiner->op))
        continue;
      builder.setInsertionPoint(combiner->op);
      Location loc = combiner->op->getLoc();
      Value zero = arith::ConstantOp::create(builder, loc, combiner->identity);
      Value sum = arith::AddFOp::create(builder, loc, zero, combiner->term);
      combiner->op->replaceUsesOfWith(combiner->term, sum);
    }
    SmallVector<Attribute> parallel(
        sizes.size(), linalg::IteratorTypeAttr::get(
                          op.getContext(), utils::IteratorType::parallel));
    op.setIteratorTypesAttr(builder.getArrayAttr(parallel));
    op->removeAttr(WeftDialect::kOrderAttr);
  });
}
