// SPDX-License-Identifier: Apache-2.0

// A slice with a dynamic offset lies within its tensor, wherever the offset
// points: it is moved to the nearest place, as StableHLO does. Where the range
// of the offset says that it cannot leave, nothing changes. Offsets that are
// constants become part of the slice. What covers a whole
// dimension begins at 0, and one element has no stride: an insertion of a whole
// tensor is then seen to be one. Padding that is cut off again is not made.

#include "Raise.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// An offset, and the last one with which the slice lies in the tensor.
struct Offset {
  OpOperand *operand;
  int64_t last;
};

/// The dynamic offsets of a slice of, or into, `whole`.
void collectOffsets(OffsetSizeAndStrideOpInterface op, Value whole,
                    SmallVectorImpl<Offset> &offsets) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(whole.getType()).getShape();
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (!op.isDynamicOffset(dim) || op.isDynamicSize(dim) ||
        op.isDynamicStride(dim))
      continue;
    int64_t span = (op.getStaticSize(dim) - 1) * op.getStaticStride(dim) + 1;
    offsets.push_back({&op->getOpOperand(op.getIndexOfDynamicOffset(dim)),
                       std::max<int64_t>(shape[dim] - span, 0)});
  }
}

bool isInside(DataFlowSolver &solver, const Offset &offset) {
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(
      offset.operand->get());
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().isNonNegative() && range.smax().sle(offset.last);
}

void clamp(const Offset &offset) {
  Operation *op = offset.operand->getOwner();
  OpBuilder builder(op);
  auto emitIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, op->getLoc(), value);
  };
  if (offset.last == 0)
    return offset.operand->set(emitIndex(0));
  Value atMost = arith::MinSIOp::create(
      builder, op->getLoc(), offset.operand->get(), emitIndex(offset.last));
  offset.operand->set(
      arith::MaxSIOp::create(builder, op->getLoc(), atMost, emitIndex(0)));
}

/// Gives dimensions of which one element is taken stride 1.
template <typename SliceOp> void dropUnusedStrides(SliceOp op) {
  SmallVector<int64_t> strides(op.getStaticStrides());
  for (unsigned dim = 0; dim < strides.size(); ++dim)
    if (op.getStaticSizes()[dim] == 1 && !op.isDynamicStride(dim))
      strides[dim] = 1;
  op.setStaticStrides(strides);
}

/// Offsets and strides that are constants become part of the slice, which keeps
/// its type. Upstream's pattern takes the first dimensions of one element for
/// those that the type lacks, whichever those are: <1x5> of [1, 5, 1] would
/// become the slice [1, 1, 5].
template <typename SliceOp>
struct FoldConstantOperands : OpRewritePattern<SliceOp> {
  using OpRewritePattern<SliceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
    SmallVector<OpFoldResult> sizes = op.getMixedSizes();
    SmallVector<OpFoldResult> strides = op.getMixedStrides();
    bool isFolded =
        succeeded(foldDynamicIndexList(offsets, /*onlyNonNegative=*/true));
    isFolded |= succeeded(foldDynamicIndexList(strides));
    ArrayRef<int64_t> whole;
    if constexpr (std::is_same_v<SliceOp, tensor::InsertSliceOp>)
      whole = op.getDestType().getShape();
    else
      whole = op.getSourceType().getShape();
    // What is not a slice then, stays as it is until it is clamped.
    if (!isFolded ||
        !verifyInBoundsSlice(whole, offsets, sizes, strides).isValid)
      return failure();
    if constexpr (std::is_same_v<SliceOp, tensor::InsertSliceOp>)
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getSource(), op.getDest(),
                                           offsets, sizes, strides);
    else
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), op.getSource(),
                                           offsets, sizes, strides);
    return success();
  }
};

/// What is inserted over all of a tensor is that tensor, however many
/// dimensions of one element it lacks.
struct FoldWholeInsertion : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getDestType();
    auto isAll = [](OpFoldResult value, int64_t number) {
      return isConstantIntValue(value, number);
    };
    for (auto [offset, size, stride, all] :
         llvm::zip(op.getMixedOffsets(), op.getMixedSizes(),
                   op.getMixedStrides(), type.getShape()))
      if (!isAll(offset, 0) || !isAll(size, all) || !isAll(stride, 1))
        return failure();
    std::optional<SmallVector<ReassociationIndices>> groups =
        getReassociationIndicesForReshape(op.getSourceType(), type);
    if (op.getSourceType().getRank() == type.getRank() || !groups)
      return failure();
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, type, op.getSource(),
                                                       *groups);
    return success();
  }
};

/// A slice of what was padded, without padding, is one of what there was
/// before. JAX writes the gradient of a tensor.pad so.
struct FoldSliceOfPad : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getSource().getDefiningOp<tensor::PadOp>();
    if (!pad || !pad.getSourceType().hasStaticShape() ||
        !op.getSourceType().hasStaticShape())
      return failure();
    auto isKnown = [](ArrayRef<int64_t> sizes) {
      return !ShapedType::isDynamicShape(sizes);
    };
    if (!isKnown(op.getStaticOffsets()) || !isKnown(op.getStaticSizes()) ||
        !isKnown(op.getStaticStrides()) || !isKnown(pad.getStaticLow()) ||
        !isKnown(pad.getStaticHigh()))
      return failure();
    SmallVector<OpFoldResult> offsets;
    for (auto [offset, low] :
         llvm::zip_equal(op.getStaticOffsets(), pad.getStaticLow())) {
      if (offset < low)
        return failure();
      offsets.push_back(rewriter.getIndexAttr(offset - low));
    }
    if (!verifyInBoundsSlice(pad.getSourceType().getShape(), offsets,
                             op.getMixedSizes(), op.getMixedStrides())
             .isValid)
      return failure();
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, op.getType(), pad.getSource(), offsets, op.getMixedSizes(),
        op.getMixedStrides());
    return success();
  }
};

} // namespace

void weft::populateFoldSlicePatterns(RewritePatternSet &patterns) {
  patterns.add<FoldWholeInsertion, FoldSliceOfPad>(patterns.getContext());
  // Before upstream's.
  patterns.add<FoldConstantOperands<tensor::ExtractSliceOp>,
               FoldConstantOperands<tensor::InsertSliceOp>>(
      patterns.getContext(), PatternBenefit(2));
}

LogicalResult weft::clampSlices(func::FuncOp entry) {
  SmallVector<Offset> offsets;
  entry.walk([&](Operation *op) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      dropUnusedStrides(slice);
      collectOffsets(slice, slice.getSource(), offsets);
    } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
      dropUnusedStrides(slice);
      collectOffsets(slice, slice.getDest(), offsets);
    }
  });
  if (offsets.empty())
    return success();
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(entry)))
    return failure();
  SmallVector<bool> inside;
  for (const Offset &offset : offsets)
    inside.push_back(isInside(solver, offset));
  for (auto [offset, isIn] : llvm::zip(offsets, inside))
    if (!isIn)
      clamp(offset);
  return success();
}
