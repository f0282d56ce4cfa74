// SPDX-License-Identifier: Apache-2.0

// The files that a compilation writes: checked before the work begins, and
// there when all of them are written.

#ifndef WEFT_LIB_COMPILE_OUTPUTS_H
#define WEFT_LIB_COMPILE_OUTPUTS_H

#include "PassRunner.h"

#include "weft/Compile/Compile.h"
#include "weft/Support/OutputPath.h"

namespace mlir::weft {

class Outputs {
public:
  /// Errors about files are at `place`. The standard output is `os`.
  Outputs(const CompileOptions &options, Location place, raw_ostream &os)
      : options(options), place(place), os(os),
        kind(getOutputKind(options.output).value_or(OutputKind::Text)) {}

  /// The phase of the module that is written.
  Phase getPhase() const {
    return kind == OutputKind::Text ? options.to.value_or(Phase::Local)
                                    : Phase::Target;
  }

  /// Checks that files can be written, each in a place of its own.
  LogicalResult checkPaths() const;

  /// Writes the module, its header and the report's page, if they were asked
  /// for: all or none.
  LogicalResult write(ModuleOp module, StringRef page, PassRunner &runner);

private:
  using Print = llvm::function_ref<LogicalResult(raw_ostream &)>;

  LogicalResult succeedUnless(const std::string &problem) const;
  LogicalResult stage(StagedFile &file, StringRef path, Print print);
  LogicalResult writeFile(StringRef path, Print print);
  LogicalResult writeModule(ModuleOp module);

  const CompileOptions &options;
  Location place;
  raw_ostream &os;
  OutputKind kind;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_OUTPUTS_H
