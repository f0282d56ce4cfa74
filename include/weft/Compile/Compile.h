// SPDX-License-Identifier: Apache-2.0

// The compiler as a function: from a module's text or bytecode, in any phase,
// to a file: text, an object, a library or an executable. weft-compile, the C
// API and the Python package are thin layers over it.
//
// Errors in the input are reported through the context's diagnostics, at their
// locations; errors about files at the location of the input's first line.

#ifndef WEFT_COMPILE_COMPILE_H
#define WEFT_COMPILE_COMPILE_H

#include "weft/Compile/Options.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::weft {

/// Adds the dialects and translations that compilation needs.
void prepareContext(MLIRContext &context);

/// Compiles `input`. Writes the output only if all went well. Standard output
/// is `os`.
LogicalResult compile(MLIRContext &context, const CompileOptions &options,
                      std::unique_ptr<llvm::MemoryBuffer> input,
                      llvm::raw_ostream &os);

/// Compiles `input` up to the phase `options.to` and returns the module; null
/// if an error was reported. Writes nothing.
OwningOpRef<ModuleOp> compileModule(MLIRContext &context,
                                    const CompileOptions &options,
                                    std::unique_ptr<llvm::MemoryBuffer> input);

/// The tool: parses the command line, compiles, prints diagnostics. Returns the
/// exit code: 0, 1 for an error in the input or files, 2 for wrong usage.
int compileMain(int argc, char **argv);

} // namespace mlir::weft

#endif // WEFT_COMPILE_COMPILE_H
