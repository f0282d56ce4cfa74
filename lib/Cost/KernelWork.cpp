// SPDX-License-Identifier: Apache-2.0

// Counts work from types and the bodies of kernels. A kernel is looked at
// through its region, which is the same before and after buffers are planned.

#include "KernelWork.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

int64_t weft::getShapedBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.hasStaticShape() ? getBufferBytes(shaped) : 0;
}

/// How many additions an op on elements takes about as long as.
static int getWeight(Operation *op) {
  if (isa<arith::ConstantOp, linalg::IndexOp, linalg::YieldOp>(op))
    return 0;
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp>(op))
    return 1;
  if (isa<math::PowFOp>(op))
    return 32;
  return isa<math::MathDialect>(op->getDialect()) ? 16 : 1;
}

static double getIterations(linalg::LinalgOp op) {
  double iterations = 1;
  for (int64_t size : op.getStaticLoopRanges())
    iterations *= double(std::max<int64_t>(size, 1));
  return iterations;
}

/// Operations of a linalg op on all its elements.
static double getOperations(linalg::LinalgOp op) {
  int weight = 0;
  for (Operation &inner : op.getBlock()->without_terminator())
    weight += getWeight(&inner);
  return weight * getIterations(op);
}

/// Bytes that a kernel reads of an input: all, unless it only looks up
/// elements here and there.
static double getReadBytes(BlockArgument input) {
  if (!isa<ShapedType>(input.getType()))
    return 0;
  double bytes = getShapedBytes(input.getType());
  double lookups = 0;
  for (Operation *user : input.getUsers()) {
    auto extract = dyn_cast<tensor::ExtractOp>(user);
    if (!extract)
      return bytes;
    auto around = dyn_cast<linalg::LinalgOp>(user->getParentOp());
    lookups += around ? getIterations(around) : 1;
  }
  double elements = cast<ShapedType>(input.getType()).getNumElements();
  return elements > 0 ? std::min(bytes, lookups * (bytes / elements)) : 0;
}

static KernelWork getFusedWork(rt::FusedOp op) {
  KernelWork work;
  Block &body = op.getBody().front();
  for (BlockArgument input : body.getArguments())
    work.bytes += getReadBytes(input);
  for (Value output : body.getTerminator()->getOperands())
    work.bytes += getShapedBytes(output.getType());
  for (auto inner : body.getOps<linalg::LinalgOp>())
    work.operations += getOperations(inner);
  return work;
}

static KernelWork getLinalgWork(linalg::LinalgOp op) {
  KernelWork work;
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()))
      work.bytes += getShapedBytes(operand.getType());
  work.operations = getOperations(op);
  return work;
}

/// Rows are read and written where updates go; indices and updates once.
static KernelWork getScatterWork(Value updates, Value indices) {
  double bytes = getShapedBytes(updates.getType());
  return {3 * bytes + getShapedBytes(indices.getType()),
          double(cast<ShapedType>(updates.getType()).getNumElements())};
}

static KernelWork getTakeWork(TakeOp op) {
  double bytes = getShapedBytes(op.getType());
  return {2 * bytes + getShapedBytes(op.getIndices().getType()), 0};
}

static KernelWork getCopyWork(Type type) {
  return {2.0 * getShapedBytes(type), 0};
}

/// Memory of constants is the step's: their values are copied there.
static std::optional<KernelWork> getConstantWork(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || op->getParentOfType<rt::FusedOp>())
    return std::nullopt;
  return getCopyWork(op.getType());
}

/// What a value is put into is where it is computed, if this is its only use.
static bool isComputedInPlace(Value part) {
  Operation *def = part.getDefiningOp();
  return def && part.hasOneUse() &&
         isa<rt::FusedOp, MatmulOp, ScatterAddOp, linalg::LinalgOp,
             tensor::EmptyOp>(def);
}

static std::optional<KernelWork> getConcatWork(tensor::ConcatOp op) {
  KernelWork work;
  for (Value part : op.getInputs())
    if (!isComputedInPlace(part))
      work.bytes += getCopyWork(part.getType()).bytes;
  if (work.bytes == 0)
    return std::nullopt;
  return work;
}

/// What is inserted is copied, and what it is inserted into as well if somebody
/// else needs it.
static KernelWork getInsertionWork(tensor::InsertSliceOp op) {
  KernelWork work = getCopyWork(op.getSource().getType());
  if (!op.getDest().hasOneUse())
    work.bytes += getCopyWork(op.getDest().getType()).bytes;
  return work;
}

std::optional<KernelWork> weft::getKernelWork(Operation *op) {
  using Work = std::optional<KernelWork>;
  return llvm::TypeSwitch<Operation *, Work>(op)
      .Case([](rt::FusedOp op) { return getFusedWork(op); })
      .Case([](ScatterAddOp op) {
        return getScatterWork(op.getUpdates(), op.getIndices());
      })
      .Case([](rt::ScatterAddOp op) {
        return getScatterWork(op.getUpdates(), op.getIndices());
      })
      .Case([](TakeOp op) { return getTakeWork(op); })
      .Case([](memref::CopyOp op) {
        return getCopyWork(op.getSource().getType());
      })
      .Case([](arith::ConstantOp op) { return getConstantWork(op); })
      .Case([](tensor::InsertSliceOp op) { return getInsertionWork(op); })
      .Case([](tensor::ConcatOp op) { return getConcatWork(op); })
      .Case([](rt::LaunchOp op) {
        KernelWork work;
        for (Value buffer : op.getBuffers())
          work.bytes += getShapedBytes(buffer.getType());
        return work;
      })
      .Case([](linalg::LinalgOp op) { return getLinalgWork(op); })
      .Default([](Operation *) { return std::nullopt; });
}

ProductSizes weft::getProductSizes(ArrayRef<Type> lhsRhsOut,
                                   ArrayRef<AffineMap> maps) {
  ProductSizes sizes;
  for (unsigned dim = 0; dim < maps[0].getNumDims(); ++dim) {
    int64_t size = 1;
    bool isIn[3];
    for (int i = 0; i < 3; ++i) {
      auto at = maps[i].getResultPosition(
          getAffineDimExpr(dim, maps[i].getContext()));
      isIn[i] = at.has_value();
      if (at)
        size = cast<ShapedType>(lhsRhsOut[i]).getDimSize(*at);
    }
    double &role = !isIn[2]             ? sizes.k
                   : isIn[0] && isIn[1] ? sizes.batch
                   : isIn[0]            ? sizes.m
                                        : sizes.n;
    role *= double(size);
  }
  return sizes;
}

int64_t weft::getTripCount(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips ? trips->getSExtValue() : 1;
}
