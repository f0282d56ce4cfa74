// SPDX-License-Identifier: Apache-2.0

// Collectives and contractions are checked by their verifiers. Here are ops of
// other dialects, whose code takes more for granted than their verifiers do,
// and scatters.

#include "CheckOps.h"
#include "PlannedProgram.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// Whether nothing lies between a buffer's elements, in row-major order.
bool isDense(MemRefType type) {
  int64_t expected = 1;
  SmallVector<int64_t> strides = getStrides(type);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    if (type.getDimSize(i) != 1 && strides[i] != expected)
      return false;
    expected *= type.getDimSize(i);
  }
  return true;
}

/// Copies are of one run of bytes.
LogicalResult checkCopy(memref::CopyOp op) {
  auto from = cast<MemRefType>(op.getSource().getType());
  auto to = cast<MemRefType>(op.getTarget().getType());
  if (from.hasStaticShape() && from.getShape() == to.getShape() &&
      isDense(from) && isDense(to))
    return success();
  return op.emitError() << getOpName(op) << " copies " << from << " to " << to
                        << ", but only dense buffers of one shape can be "
                           "copied";
}

/// Subscripts that are constants are in range. Others may only be read, as 0
/// where there is no element: those that a store writes are known.
LogicalResult checkSubscripts(Operation *op, MemRefType type,
                              ValueRange subscripts) {
  for (auto [dim, subscript] : llvm::enumerate(subscripts)) {
    APInt value;
    bool isKnown = matchPattern(subscript, m_ConstantInt(&value));
    if (!isKnown && isa<memref::StoreOp>(op))
      return op->emitError()
             << getOpName(op) << " stores an element whose subscript #" << dim
             << " is not constant";
    if (isKnown && (value.isNegative() || value.uge(type.getDimSize(dim))))
      return op->emitError()
             << getOpName(op) << " has subscript " << value.getSExtValue()
             << " in dim " << dim << " of " << type;
  }
  return success();
}

bool isIndexing(AffineMap map, unsigned numDims, int64_t rank) {
  return map.isProjectedPermutation() && map.getNumSymbols() == 0 &&
         map.getNumDims() == numDims && map.getNumResults() == rank;
}

/// Says whether a buffer, indexed by `map`, has the sizes of the updates.
bool hasSizes(AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  for (auto [i, size] : llvm::enumerate(shape))
    if (sizes[map.getDimPosition(i)] != size)
      return false;
  return true;
}

LogicalResult checkScatterAdd(rt::ScatterAddOp op) {
  auto table = cast<MemRefType>(op.getTable().getType());
  auto indices = cast<MemRefType>(op.getIndices().getType());
  auto updates = cast<MemRefType>(op.getUpdates().getType());
  int64_t axis = op.getAxis();
  bool isRight = axis >= 0 && axis < table.getRank() &&
                 table.getElementType() == updates.getElementType() &&
                 indices.getElementType().isSignlessInteger();
  SmallVector<int64_t> rest(table.getShape());
  if (isRight)
    rest.erase(rest.begin() + axis);
  unsigned numDims = updates.getRank();
  isRight = isRight && isIndexing(op.getTableMap(), numDims, rest.size()) &&
            isIndexing(op.getIndexMap(), numDims, indices.getRank()) &&
            hasSizes(op.getTableMap(), rest, updates.getShape()) &&
            hasSizes(op.getIndexMap(), indices.getShape(), updates.getShape());
  if (op.getBase()) {
    auto base = cast<MemRefType>(op.getBase().getType());
    isRight &= base.getRank() == 0 && base.getElementType().isIndex();
  }
  if (isRight)
    return success();
  return op.emitError() << getOpName(op) << " adds " << updates << " into "
                        << table << " by indices of " << indices
                        << ", which its axis and maps do not allow";
}

} // namespace

LogicalResult mlir::weft::proof::checkTouched(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](memref::CopyOp o) { return checkCopy(o); })
      .Case([](memref::LoadOp o) {
        return checkSubscripts(o, o.getMemRefType(), o.getIndices());
      })
      .Case([](memref::StoreOp o) {
        return checkSubscripts(o, o.getMemRefType(), o.getIndices());
      })
      .Case([](rt::ScatterAddOp o) { return checkScatterAdd(o); })
      .Default([](Operation *) { return success(); });
}
