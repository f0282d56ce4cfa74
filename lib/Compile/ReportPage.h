// SPDX-License-Identifier: Apache-2.0

// The page about a compiled step that --report asks for.

#ifndef WEFT_LIB_COMPILE_REPORTPAGE_H
#define WEFT_LIB_COMPILE_REPORTPAGE_H

#include "weft/Compile/Compile.h"
#include "weft/Report/MakeReport.h"

namespace mlir::weft {

class ReportPage {
public:
  /// `place` is the first line of the input. `remarks` is what passes said.
  ReportPage(const CompileOptions &options, FileLineColLoc place,
             RemarkLog &remarks)
      : options(options), place(place), remarks(remarks) {}

  /// The page about a module that is at most planned; what is not planned yet
  /// is, in a copy. With --compare `unscheduled` is the same step before it was
  /// scheduled; else null.
  FailureOr<std::string> write(ModuleOp module,
                               OwningOpRef<ModuleOp> unscheduled);

private:
  FailureOr<Report> planCopy(OwningOpRef<ModuleOp> copy, StringRef policy);
  FailureOr<Report> reportOn(ModuleOp planned);

  const CompileOptions &options;
  FileLineColLoc place;
  RemarkLog &remarks;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_REPORTPAGE_H
