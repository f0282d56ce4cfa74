// SPDX-License-Identifier: Apache-2.0

// What a compilation is asked for. Options.def is the table of options.

#ifndef WEFT_COMPILE_OPTIONS_H
#define WEFT_COMPILE_OPTIONS_H

#include "weft/Pipelines/Pipelines.h"
#include "weft/Schedule/Passes.h"
#include "weft/Support/ToolOptions.h"

#include <string>
#include <vector>

namespace mlir::weft {

/// Values that options do not have mean: as the module says, or its target, or
/// the machine.
struct CompileOptions {
  /// The file to compile; "-" is the standard input.
  std::string input;

#define OPTION(FIELD, TYPE, DEFAULT, FLAG, VALUE, RULE, HELP)                  \
  TYPE FIELD = DEFAULT;
#include "weft/Compile/Options.def"

  /// Folder of libweft_rt.a and libweft_rt_main.a, for executables.
  std::string runtimeDir;
  /// Print the name of the running pass to standard error.
  bool progress = false;
  /// Nothing follows but the end of the process, which frees all memory.
  bool endsProcess = false;
  /// Nobody named the machine: it is the target's.
  bool hasDefaultMachine = false;
};

/// What is written to the output.
enum class OutputKind { Text, LLVMIR, Object, SharedLibrary, Executable };

/// The kind that the suffix of `path` stands for.
std::optional<OutputKind> getOutputKind(llvm::StringRef path);

/// The table, bound to `options`, which it must not outlive.
std::vector<ToolOption> listCompileOptions(CompileOptions &options);

/// Returns what is wrong with options together as text, or an empty text.
std::string checkOptions(const CompileOptions &options);

/// Gives the module the target and its options that were asked for. It has one
/// then, the default one if nobody named one.
void chooseTarget(const CompileOptions &options, ModuleOp module);

/// The machine that the module is ordered for: the one that was asked for, or
/// its target's, as `options` or the module name that.
std::string chooseMachine(const CompileOptions &options, ModuleOp module);

/// Takes options from a command line without the program's name, and checks
/// them. Returns what is wrong as text, or an empty text.
std::string parseCompileOptions(llvm::ArrayRef<llvm::StringRef> arguments,
                                CompileOptions &options);

} // namespace mlir::weft

#endif // WEFT_COMPILE_OPTIONS_H
