// SPDX-License-Identifier: Apache-2.0

// Output files: checked before the work begins, and never seen half-written.

#ifndef WEFT_LIB_COMPILE_OUTPUTPATH_H
#define WEFT_LIB_COMPILE_OUTPUTPATH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::weft {

/// Returns why a file at `path` cannot be written, or an empty text.
std::string checkOutputPath(llvm::StringRef path);

/// Writes a file beside `path` and renames it. Returns what went wrong, or an
/// empty text.
std::string
writeOutputFile(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_OUTPUTPATH_H
