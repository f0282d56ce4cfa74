// SPDX-License-Identifier: Apache-2.0

// A tool that does not crash: its work is done by a child of the process. What
// ends the child (a stack that overflows, memory that runs out, a defect of a
// parser) becomes a message and an exit code of 1.

#ifndef WEFT_SUPPORT_GUARD_H
#define WEFT_SUPPORT_GUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

/// Runs `body` in a forked process and returns the exit code: what `body`
/// returns, or 1 if it was killed. Signals that ask the tool to end reach the
/// child, which removes its temporary files, and then end the tool. To be
/// called while the process has one thread.
int runGuarded(llvm::StringRef tool, llvm::function_ref<int()> body);

} // namespace mlir::weft

#endif // WEFT_SUPPORT_GUARD_H
