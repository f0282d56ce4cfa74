// SPDX-License-Identifier: Apache-2.0

// weft-sim's command line: its own options, and the compiler's but for those
// that say what to write.

#ifndef WEFT_TOOLS_WEFT_SIM_OPTIONS_H
#define WEFT_TOOLS_WEFT_SIM_OPTIONS_H

#include "weft/Compile/Options.h"
#include "weft/Simulate/Simulate.h"

namespace mlir::weft {

struct SimOptions {
  /// The machine is the one that is simulated, too.
  CompileOptions compile;
  SimulateOptions simulate;
  /// Files to write and to read; empty: none.
  std::string trace, durations, report;
};

/// Takes options from a command line without the program's name. Returns what
/// is wrong as text, or an empty text.
std::string parseSimOptions(llvm::ArrayRef<llvm::StringRef> arguments,
                            SimOptions &options);

void printSimHelp(llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_TOOLS_WEFT_SIM_OPTIONS_H
