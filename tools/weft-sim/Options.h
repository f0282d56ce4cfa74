// SPDX-License-Identifier: Apache-2.0

// weft-sim's command line. What is not its own goes to the compiler's options.

#ifndef WEFT_TOOLS_WEFT_SIM_OPTIONS_H
#define WEFT_TOOLS_WEFT_SIM_OPTIONS_H

#include "weft/Compile/Compile.h"
#include "weft/Simulate/Simulate.h"

namespace mlir::weft {

struct SimOptions {
  CompileOptions compile;
  SimulateOptions simulate;
  std::string machine = "host";
  /// Files to write and to read; empty: none.
  std::string trace, durations, report;
};

/// Takes options from a command line without the program's name. Returns what
/// is wrong as text, or an empty text.
std::string parseSimOptions(llvm::ArrayRef<llvm::StringRef> arguments,
                            SimOptions &options);

/// The text of `--help`.
llvm::StringRef getSimHelp();

} // namespace mlir::weft

#endif // WEFT_TOOLS_WEFT_SIM_OPTIONS_H
