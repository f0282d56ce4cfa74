// SPDX-License-Identifier: Apache-2.0

// From a compiled step to its report: simulates the planned program, which is
// the one that is executed, and adds what the compiler said on the way.

#ifndef WEFT_REPORT_MAKEREPORT_H
#define WEFT_REPORT_MAKEREPORT_H

#include "weft/Cost/Machine.h"
#include "weft/Report/Report.h"
#include "weft/Simulate/Simulate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace mlir::weft {

/// The remarks of a compilation. A remark is about the op that its argument
/// `op` names, or about a place. What is decided again, in another round, is
/// said again: the last word counts.
class RemarkLog {
public:
  void add(const remark::detail::Remark &remark);
  /// Returns what was added since the last call.
  std::vector<ReportRemark> take();

private:
  std::vector<ReportRemark> list;
  /// Where in the list the remark of that name about an op or place is.
  llvm::StringMap<size_t> indices;
};

/// Sends all remarks of `context` to the log that is returned, from now on;
/// `print` also prints them as diagnostics. Null: that was not possible.
std::shared_ptr<RemarkLog> logRemarks(MLIRContext &context, bool print);

/// The report of a planned step that took `timeline` on `machine`, without
/// title and remarks.
Report makeReport(func::FuncOp step, const Machine &machine, Timeline timeline);

/// Simulates the step of a module in the planned phase for its report. Fails,
/// with a diagnostic, if there is no step, or more ranks than the machine has.
FailureOr<Report> makeReport(ModuleOp module, const Machine &machine);

} // namespace mlir::weft

#endif // WEFT_REPORT_MAKEREPORT_H
