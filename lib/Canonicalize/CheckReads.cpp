// SPDX-License-Identifier: Apache-2.0

// An element that is not there reads as 0, whatever becomes of the tensor. Code
// for reads sees to that, but folds of reads from constants and reshapes do
// not: such reads are put between comparisons here.

#include "CheckValues.h"
#include "weft/Canonicalize/MissingElements.h"
#include "weft/Dialect/Weft/IR/Lookups.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Whether an index of a dim of `size` elements is a constant outside.
bool isOutside(Value index, int64_t size) {
  APInt number;
  return !ShapedType::isDynamic(size) &&
         matchPattern(index, m_ConstantInt(&number)) &&
         (number.isNegative() || number.sge(size));
}

Value emitMissing(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, getMissingElement(type));
}

/// Whether an op on tensors computes each element, so that no fold makes a
/// constant of it, or takes it away.
bool isComputation(Operation *op) {
  if (isa<linalg::ContractionOpInterface>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic &&
         llvm::all_of(generic.getBody()->getTerminator()->getOperands(),
                      [&](Value value) {
                        Operation *inner = value.getDefiningOp();
                        return inner && inner->getNumOperands() &&
                               inner->getBlock() == generic.getBody();
                      });
}

/// Whether canonicalization may come to know the elements of a tensor, or reads
/// another tensor instead.
bool mayFold(Value tensor) {
  if (auto arg = dyn_cast<BlockArgument>(tensor)) {
    Operation *parent = arg.getOwner()->getParentOp();
    auto func = dyn_cast<func::FuncOp>(parent);
    return !isa<rt::FusedOp>(parent) && !(func && func.isPublic());
  }
  Operation *op = tensor.getDefiningOp();
  if (isa<tensor::CastOp, ShardOp>(op))
    return mayFold(op->getOperand(0));
  return !isComputation(op) && !isa<WeftDialect>(op->getDialect());
}

/// An index that stands for a loop of linalg over at most `size` elements.
bool isLoopOf(Value index, int64_t size) {
  auto loop = index.getDefiningOp<linalg::IndexOp>();
  auto op = loop ? dyn_cast<linalg::LinalgOp>(loop->getParentOp()) : nullptr;
  if (!op)
    return false;
  int64_t extent = op.getStaticLoopRanges()[loop.getDim()];
  return !ShapedType::isDynamic(extent) && extent <= size;
}

bool isInside(DataFlowSolver &solver, Value index, int64_t size) {
  if (isLoopOf(index, size))
    return true;
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(index);
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().isNonNegative() && range.smax().slt(size);
}

/// Reads the first element where the indices in `dims` point to none, and
/// chooses what lookups give there instead.
void guard(tensor::ExtractOp read, ArrayRef<unsigned> dims) {
  OpBuilder builder(read);
  Location loc = read.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), inside;
  for (unsigned dim : dims) {
    OpOperand &index = read.getIndicesMutable()[dim];
    Value size = arith::ConstantIndexOp::create(
        builder, loc, read.getTensor().getType().getDimSize(dim));
    Value isIn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       index.get(), size);
    index.set(arith::SelectOp::create(builder, loc, isIn, index.get(), zero));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, isIn) : isIn;
  }
  builder.setInsertionPointAfter(read);
  Value absent = emitMissing(builder, loc, read.getType());
  auto chosen =
      arith::SelectOp::create(builder, loc, inside, read.getResult(), absent);
  read.getResult().replaceAllUsesExcept(chosen, chosen);
}

} // namespace

void weft::readMissingAsZero(Operation *root) {
  root->walk([](tensor::ExtractOp read) {
    for (auto [size, index] :
         llvm::zip(read.getTensor().getType().getShape(), read.getIndices()))
      if (isOutside(index, size)) {
        OpBuilder builder(read);
        read.getResult().replaceAllUsesWith(
            emitMissing(builder, read.getLoc(), read.getType()));
        return read.erase();
      }
  });
}

LogicalResult weft::guardReads(ModuleOp module) {
  SmallVector<tensor::ExtractOp> reads;
  module.walk([&](tensor::ExtractOp read) {
    if (read.getTensor().getType().hasStaticShape() &&
        !read.getTensor().getType().getShape().empty() &&
        mayFold(read.getTensor()))
      reads.push_back(read);
  });
  if (reads.empty())
    return success();
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(module)))
    return failure();
  SmallVector<SmallVector<unsigned>> unsafe;
  for (tensor::ExtractOp read : reads) {
    unsafe.emplace_back();
    for (auto [dim, index] : llvm::enumerate(read.getIndices()))
      if (!isInside(solver, index, read.getTensor().getType().getDimSize(dim)))
        unsafe.back().push_back(dim);
  }
  for (auto [read, dims] : llvm::zip(reads, unsafe))
    if (!dims.empty())
      guard(read, dims);
  return success();
}
