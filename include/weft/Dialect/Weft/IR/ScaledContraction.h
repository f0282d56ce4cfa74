// SPDX-License-Identifier: Apache-2.0

// The scales of whole tensors that a contraction's narrow operands have are
// applied to its result. Contributions of ranks to that result are products of
// the same kind: they may be scaled, and rounded to the result's type, before
// they are combined, as those of a contraction of wide operands are rounded.

#ifndef WEFT_DIALECT_WEFT_IR_SCALEDCONTRACTION_H
#define WEFT_DIALECT_WEFT_IR_SCALEDCONTRACTION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

/// A unit attribute of the linalg.generic that applies such scales.
inline constexpr llvm::StringLiteral kScalesContractionAttr =
    "weft.scales_contraction";

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_SCALEDCONTRACTION_H
