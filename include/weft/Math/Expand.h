// SPDX-License-Identifier: Apache-2.0

// Functions of scalars become formulas whose bits are the same on every target,
// and which ops have such a result at all. docs/math.md has the error bounds.

#ifndef WEFT_MATH_EXPAND_H
#define WEFT_MATH_EXPAND_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::weft {

/// Patterns that expand functions of f32 and f64 scalars. Functions of narrower
/// floats must have been extended to f32.
void populateExpandFunctionsPatterns(RewritePatternSet &patterns);

/// Whether the bits of the results of an op on elements (of arith, math, ...)
/// follow from its operands alone, on every target: it is exact or correctly
/// rounded, or has a formula. Functions of the C library do not, nor do ops
/// with fast-math flags. Takes shaped operands for their elements, and floats
/// narrower than f32 for f32, in which their functions are computed.
bool hasDeclaredResult(Operation *op);

} // namespace mlir::weft

#endif // WEFT_MATH_EXPAND_H
