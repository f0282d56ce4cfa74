// SPDX-License-Identifier: Apache-2.0

// Programs that weft runs: the linker, and the assembler for GPUs.

#ifndef WEFT_SUPPORT_RUNPROGRAM_H
#define WEFT_SUPPORT_RUNPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"

#include <string>

namespace mlir::weft {

/// What came of a program.
struct ProgramResult {
  /// As llvm::sys::ExecuteAndWait gives it: below 0 if it did not run, or took
  /// too long.
  int exitCode;
  /// What it printed, or why it did not run.
  std::string said;
};

/// Runs the program of that path without an input, and waits for it, for so
/// many seconds at most; 0: as long as it takes. An error: there could be no
/// file for what it prints.
llvm::ErrorOr<ProgramResult> runProgram(llvm::StringRef path,
                                        llvm::ArrayRef<std::string> arguments,
                                        unsigned seconds = 0);

} // namespace mlir::weft

#endif // WEFT_SUPPORT_RUNPROGRAM_H
