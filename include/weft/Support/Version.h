// SPDX-License-Identifier: Apache-2.0

// What weft's tools say about themselves.

#ifndef WEFT_SUPPORT_VERSION_H
#define WEFT_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::weft {

/// Returns the version of weft, as in "0.1.0".
llvm::StringRef getVersion();

/// Prints `weft 0.1.0 (MLIR 22.1.8)`.
void printVersion(llvm::raw_ostream &os);

/// Sets what a tool prints when it crashes, and what `--version` prints where
/// LLVM parses the command line, and which signals it does without. To be
/// called first in a tool's main.
void initTool();

} // namespace mlir::weft

#endif // WEFT_SUPPORT_VERSION_H
