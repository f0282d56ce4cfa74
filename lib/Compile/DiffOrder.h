// SPDX-License-Identifier: Apache-2.0

// Compares the certificates of two programs.

#ifndef WEFT_LIB_COMPILE_DIFFORDER_H
#define WEFT_LIB_COMPILE_DIFFORDER_H

#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

/// Prints "equal", or the first reduction or result in which the programs
/// differ. Returns the exit code: 0, 1 if they differ, 2 if one has no
/// certificate.
int diffOrder(llvm::StringRef pathA, llvm::StringRef pathB);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_DIFFORDER_H
