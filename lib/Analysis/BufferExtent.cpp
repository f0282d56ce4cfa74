// SPDX-License-Identifier: Apache-2.0

#include "weft/Analysis/BufferExtent.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::weft;

/// Bytes from the first to past the last element.
static int64_t getSpanBytes(MemRefType type) {
  return rt::getSpan(type) * rt::getElementBytes(type.getElementType());
}

BufferExtent mlir::weft::getExtent(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (auto view = buffer.getDefiningOp<rt::ViewOp>()) {
    BufferExtent source = getExtent(view.getSource());
    if (view.getDynamicOffset())
      return source;
    source.begin +=
        view.getOffset() * rt::getElementBytes(type.getElementType());
    source.end = source.begin + getSpanBytes(type);
    return source;
  }
  auto op = buffer.getDefiningOp<rt::BufferOp>();
  if (!op) {
    BufferExtent extent{rt::Space::Arena};
    extent.isUnknown = true;
    return extent;
  }
  BufferExtent extent{op.getSpace()};
  if (op.getSpace() == rt::Space::Arena || op.getSpace() == rt::Space::Host)
    extent.begin = op.getPosition();
  else
    extent.index = op.getPosition();
  extent.end = extent.begin + getSpanBytes(type);
  return extent;
}

/// Says whether what `writer` writes may be what `other` reads or writes.
static bool overwrites(rt::FusedOp writer, rt::FusedOp other) {
  for (Value out : writer.getOuts()) {
    BufferExtent written = getExtent(out);
    for (Value operand : other->getOperands())
      // Nobody writes a constant.
      if (isa<MemRefType>(operand.getType()) &&
          !operand.getDefiningOp<memref::GetGlobalOp>() &&
          written.overlaps(getExtent(operand)))
        return true;
  }
  return false;
}

bool mlir::weft::haveConflict(rt::FusedOp a, rt::FusedOp b) {
  return overwrites(a, b) || overwrites(b, a);
}

bool mlir::weft::isNothingBetween(Operation *op) {
  return isa<rt::AssembleOp>(op) ||
         (op->getNumRegions() == 0 && isMemoryEffectFree(op));
}
