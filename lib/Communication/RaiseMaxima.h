// SPDX-License-Identifier: Apache-2.0

// Maxima over ranks, computed as early as they can be.

#ifndef WEFT_LIB_COMMUNICATION_RAISEMAXIMA_H
#define WEFT_LIB_COMMUNICATION_RAISEMAXIMA_H

#include "mlir/IR/Block.h"

#include <cstdint>

namespace mlir::weft {

/// Moves what maxima over ranks are computed from to where the value is made
/// that they are the maxima of; of arguments to the front of the block. So one
/// collective can be made of those that are needed at different places. Only
/// reductions of operands of at most `limit` bytes count.
void raiseMaxima(Block &block, int64_t limit);

} // namespace mlir::weft

#endif // WEFT_LIB_COMMUNICATION_RAISEMAXIMA_H
