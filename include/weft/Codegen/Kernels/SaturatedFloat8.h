// SPDX-License-Identifier: Apache-2.0

// Numbers that were brought into the range of a float of 8 bits before they are
// rounded to it, as casts of quantization are written.

#ifndef WEFT_CODEGEN_KERNELS_SATURATEDFLOAT8_H
#define WEFT_CODEGEN_KERNELS_SATURATEDFLOAT8_H

#include "mlir/IR/Value.h"

namespace mlir::weft {

/// What was brought into the range of `element` (f8E4M3FN or f8E5M2, or vectors
/// of these) to give `value`, by a minimum with its greatest number and a
/// maximum with the least; null if that is not what `value` is.
Value getSaturated(Value value, Type element);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_SATURATEDFLOAT8_H
