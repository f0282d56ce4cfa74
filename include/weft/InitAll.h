// SPDX-License-Identifier: Apache-2.0

// Registers everything that weft's tools know: weft's dialects, passes and
// pipelines, and upstream's. One source file pays for the includes.

#ifndef WEFT_INITALL_H
#define WEFT_INITALL_H

namespace mlir {
class DialectRegistry;

namespace weft {

/// Adds all dialects, their interface implementations and their translations
/// to LLVM IR.
void registerAllDialects(DialectRegistry &registry);

/// Makes all targets known.
void registerAllTargets();

/// Registers dialects and targets, and all passes and pipelines by name.
void registerAll(DialectRegistry &registry);

} // namespace weft
} // namespace mlir

#endif // WEFT_INITALL_H
