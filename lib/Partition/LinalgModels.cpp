// SPDX-License-Identifier: Apache-2.0

// Structured ops on one rank. The op stays as it is, on local operands; three
// things in its body depend on which part the rank computes:
//  - linalg.index gets the offset of the rank's chunk;
//  - what enters a reduction over an uneven dimension is replaced by the
//    neutral element past the end. Padding may be NaN: a select keeps it
//    out, a product would not;
//  - ops that may trap (division, element access) get harmless operands
//    there.

#include "Models.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Returns how each loop of the op is cut, as its operands say.
SmallVector<DimCut> getLoopCuts(const LocalBuilder &local,
                                linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<DimCut> cuts;
  for (int64_t size : sizes)
    cuts.push_back({{}, size});
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        if (DimCut cut = local.getCut(operand.get(), dim); cut.isSharded())
          cuts[loop.getPosition()].axes = cut.axes;
  }
  return cuts;
}

/// Rewrites the body of a cloned op.
class BodyRewriter {
public:
  BodyRewriter(LocalBuilder &local, linalg::LinalgOp op, ArrayRef<DimCut> cuts)
      : local(local), op(op), loc(op.getLoc()), cuts(cuts),
        builder(OpBuilder::atBlockBegin(op.getBlock())),
        outside(op.getOperation()) {}

  void run() {
    offsetIndices();
    guardTraps();
    maskReductions();
  }

private:
  Value inOuter(function_ref<Value()> make) {
    OpBuilder::InsertionGuard guard(local.builder);
    local.builder.setInsertionPoint(outside);
    return make();
  }

  void offsetIndices() {
    SmallVector<linalg::IndexOp> indices(
        op.getBlock()->getOps<linalg::IndexOp>());
    for (linalg::IndexOp index : indices) {
      const DimCut &cut = cuts[index.getDim()];
      if (!cut.isSharded())
        continue;
      Value offset = inOuter([&] { return local.chunkOffset(loc, cut); });
      builder.setInsertionPointAfter(index);
      Value sum = arith::AddIOp::create(builder, loc, index, offset);
      index.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
    }
  }

  /// Returns whether the iteration lies before the end of the loops of one
  /// kind that are cut unevenly; null if none is.
  Value isValid(bool reductionsOnly) {
    builder.setInsertionPointToStart(op.getBlock());
    Value all;
    for (auto [loop, cut] : llvm::enumerate(cuts)) {
      bool isReduction =
          op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
      if (!cut.isUneven() || (reductionsOnly && !isReduction))
        continue;
      Value count = inOuter([&] { return local.validCount(loc, cut); });
      Value index = linalg::IndexOp::create(builder, loc, loop);
      Value valid = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, index, count);
      all = all ? arith::AndIOp::create(builder, loc, all, valid) : valid;
    }
    return all;
  }

  /// Replaces an operand by `harmless` past the end.
  void guard(OpOperand &operand, Value valid, int64_t harmless) {
    if (matchPattern(operand.get(), m_Constant()))
      return;
    builder.setInsertionPoint(operand.getOwner());
    Type type = operand.get().getType();
    Value other = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, harmless));
    operand.set(
        arith::SelectOp::create(builder, loc, valid, operand.get(), other));
  }

  void guardTraps() {
    SmallVector<std::pair<OpOperand *, int64_t>> operands;
    op.getBlock()->walk([&](Operation *inner) {
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
              arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
              arith::RemUIOp>(inner))
        operands.push_back({&inner->getOpOperand(1), 1});
      else if (isa<tensor::ExtractOp>(inner))
        for (OpOperand &index : inner->getOpOperands().drop_front())
          operands.push_back({&index, 0});
    });
    if (operands.empty())
      return;
    if (Value valid = isValid(/*reductionsOnly=*/false))
      for (auto [operand, harmless] : operands)
        guard(*operand, valid, harmless);
  }

  void maskReductions() {
    Value valid = isValid(/*reductionsOnly=*/true);
    if (!valid)
      return;
    Operation *yield = op.getBlock()->getTerminator();
    for (unsigned i = 0; i < yield->getNumOperands(); ++i)
      maskReduction(yield->getOperand(i).getDefiningOp(),
                    op.getRegionOutputArgs()[i], valid);
  }

  /// Masks what `combiner` combines with the accumulator. Its sharding rule
  /// says that it is one of the ops that ranks can share, which all have a
  /// neutral element.
  void maskReduction(Operation *combiner, BlockArgument accumulator,
                     Value valid) {
    TypedAttr neutral = *arith::getNeutralElement(combiner);
    // Upstream's is +0.0, which a sum that starts from -0.0 changes by.
    if (isa<arith::AddFOp>(combiner))
      neutral = builder.getFloatAttr(neutral.getType(), -0.0);
    OpOperand &entering =
        combiner->getOpOperand(combiner->getOperand(0) == accumulator ? 1 : 0);
    builder.setInsertionPoint(combiner);
    Value other = arith::ConstantOp::create(builder, loc, neutral);
    entering.set(
        arith::SelectOp::create(builder, loc, valid, entering.get(), other));
  }

  LocalBuilder &local;
  linalg::LinalgOp op;
  Location loc;
  ArrayRef<DimCut> cuts;
  OpBuilder builder;
  Operation *outside;
};

/// Says whether the body depends on which part the rank computes.
bool needsRewrite(linalg::LinalgOp op, ArrayRef<DimCut> cuts) {
  if (llvm::any_of(cuts, [](const DimCut &cut) { return cut.isUneven(); }))
    return true;
  return llvm::any_of(
      op.getBlock()->getOps<linalg::IndexOp>(),
      [&](linalg::IndexOp index) { return cuts[index.getDim()].isSharded(); });
}

LogicalResult partitionLinalg(LocalBuilder &local, linalg::LinalgOp op) {
  SmallVector<DimCut> cuts = getLoopCuts(local, op);
  auto clone = cast<linalg::LinalgOp>(local.cloneLocal(op));
  if (!needsRewrite(op, cuts))
    return success();
  if (!isa<linalg::GenericOp>(op)) {
    // The bodies of named ops are not printed: they cannot be changed.
    if (op.getNumReductionLoops() == 0 && !op.hasIndexSemantics())
      return success();
    return op.emitOpError("is sharded in a way that changes its body; raise "
                          "it to linalg.generic first");
  }
  BodyRewriter(local, clone, cuts).run();
  return success();
}

template <typename Op>
struct LinalgModel : PartitionOpInterface::ExternalModel<LinalgModel<Op>, Op> {
  LogicalResult partition(Operation *op, LocalBuilder &local) const {
    return partitionLinalg(local, cast<linalg::LinalgOp>(op));
  }
};

template <typename... Ops> void attachTo(MLIRContext *context) {
  (Ops::template attachInterface<LinalgModel<Ops>>(*context), ...);
}

} // namespace

void mlir::weft::registerLinalgPartitionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachTo<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
}
