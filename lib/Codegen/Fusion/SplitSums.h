// SPDX-License-Identifier: Apache-2.0

// Long sums of few results become two kernels: one that sums parts of them, and
// one that joins the parts.

#ifndef WEFT_LIB_CODEGEN_FUSION_SPLITSUMS_H
#define WEFT_LIB_CODEGEN_FUSION_SPLITSUMS_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// What a block of a GPU walks in some 10 microseconds, which is what a further
/// kernel is worth.
constexpr int64_t kLongSum = 1 << 16;

/// Splits the reductions of the block that have no order, few results, and many
/// elements for each, into about `numParts` sums of parts, and sums of these.
/// Both have the order that their kernels have, each time.
void splitSums(Block &block, int64_t numParts);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_SPLITSUMS_H
