// SPDX-License-Identifier: Apache-2.0

// Cuts the loops of a kernel to a core's caches and vectors.

#ifndef WEFT_LIB_TARGET_HOST_TILEROWS_H
#define WEFT_LIB_TARGET_HOST_TILEROWS_H

#include "weft/Codegen/Fusion/KernelShape.h"

namespace mlir::weft {

/// Makes one of several short rows, or several of a long one, where a row has
/// more than one phase. What is computed for an element, and in which order the
/// elements of a reduction come, stays.
void tileRows(KernelShape &shape);

/// The largest divisor of `size` from `least`, more than 0, to `most`; 0 if
/// there is none.
int64_t findDivisor(int64_t size, int64_t least, int64_t most);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_TILEROWS_H
