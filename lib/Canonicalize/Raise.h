// SPDX-License-Identifier: Apache-2.0

// The pattern sets of weft-raise, one per file. Each works alone; the pass
// applies them in the order in which they stand here, after offsets of slices
// are in order.

#ifndef WEFT_LIB_CANONICALIZE_RAISE_H
#define WEFT_LIB_CANONICALIZE_RAISE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir {
class RewritePatternSet;

namespace weft {

/// Adds patterns that turn named linalg ops and elementwise ops on tensors
/// into linalg.generic, and simplify its operands.
void populateRaiseToGenericPatterns(RewritePatternSet &patterns);

/// Adds patterns that turn lookups in bodies of linalg.generic into weft.take,
/// and choices by loop index into tensor.concat.
void populateRaiseLookupPatterns(RewritePatternSet &patterns);

/// Adds patterns that turn contractions into weft.matmul.
void populateRaiseContractionPatterns(RewritePatternSet &patterns);

/// Adds patterns that make constant offsets and strides of slices static.
void populateFoldSlicePatterns(RewritePatternSet &patterns);

/// Clamps dynamic offsets of slices that may begin before the tensor, or end
/// after it.
LogicalResult clampSlices(func::FuncOp entry);

} // namespace weft
} // namespace mlir

#endif // WEFT_LIB_CANONICALIZE_RAISE_H
