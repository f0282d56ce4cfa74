// SPDX-License-Identifier: Apache-2.0

// A slice with a dynamic offset lies within its tensor, wherever the offset
// points: it is moved to the nearest place, as StableHLO does. Where the range
// of the offset says that it cannot leave, nothing changes.

#include "Raise.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
  Value atMost = arith::MinSIOp::create(
      builder, op->getLoc(), offset.operand->get(), emitIndex(offset.last));
  offset.operand->set(
      arith::MaxSIOp::create(builder, op->getLoc(), atMost, emitIndex(0)));
}

} // namespace

LogicalResult weft::clampSlices(func::FuncOp entry) {
  SmallVector<Offset> offsets;
  entry.walk([&](Operation *op) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      collectOffsets(slice, slice.getSource(), offsets);
    else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
      collectOffsets(slice, slice.getDest(), offsets);
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
