// SPDX-License-Identifier: Apache-2.0

// The sizes of a structured op's loops, and where its outputs begin.

#ifndef WEFT_ANALYSIS_LOOPSIZES_H
#define WEFT_ANALYSIS_LOOPSIZES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Sizes of the loops of an op that has these maps, whose tensors are of static
/// shape. Upstream's way inverts a concatenation of all maps for each op.
SmallVector<int64_t> getLoopSizes(linalg::LinalgOp op,
                                  ArrayRef<AffineMap> maps);

/// How many operands are inputs; outputs follow. Upstream's way makes an
/// attribute each time.
unsigned countInputs(linalg::LinalgOp op);

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_LOOPSIZES_H
