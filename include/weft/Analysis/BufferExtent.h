// SPDX-License-Identifier: Apache-2.0

// Which bytes the kernels of a plan touch, as far as passes after planning need
// it.

#ifndef WEFT_ANALYSIS_BUFFEREXTENT_H
#define WEFT_ANALYSIS_BUFFEREXTENT_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

namespace mlir::weft {

/// The memory that a buffer may touch: bytes [begin, end) of a space, or any.
struct BufferExtent {
  rt::Space space;
  int64_t index = 0, begin = 0, end = 0;
  bool isUnknown = false;

  bool overlaps(const BufferExtent &other) const {
    if (isUnknown || other.isUnknown)
      return true;
    return space == other.space && index == other.index && begin < other.end &&
           other.begin < end;
  }
};

/// On weft_rt.fused on buffers: kernels in a row that have one number may be
/// run by one launch, at one time.
inline constexpr llvm::StringLiteral kTogetherAttr = "weft_rt.together";

BufferExtent getExtent(Value buffer);

/// Says whether two kernels on buffers may not run at one time: one writes what
/// the other reads or writes.
bool haveConflict(rt::FusedOp a, rt::FusedOp b);

/// Says whether the op leaves nothing to be done between two kernels.
bool isNothingBetween(Operation *op);

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_BUFFEREXTENT_H
