// SPDX-License-Identifier: Apache-2.0

// The page tells of the plan, which is what is executed.

#include "ReportPage.h"

#include "Driver.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::weft;

/// Compiles a copy to the planned phase, with a policy, for the page alone.
FailureOr<Report> ReportPage::planCopy(OwningOpRef<ModuleOp> copy,
                                       StringRef policy) {
  CompileOptions changed = options;
  changed.schedule = policy.str();
  changed.mesh.clear();
  changed.invariant.clear();
  changed.accumulate.clear();
  changed.report.clear();
  changed.compare.clear();
  changed.stats = changed.proofs = false;
  // Nobody asked what it takes to make the report.
  MLIRContext &context = *place.getContext();
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
  });
  PassRunner runner(context, changed.progress);
  Driver driver(std::move(copy), changed, Phase::Planned, place, remarks,
                runner);
  if (failed(driver.plan()))
    return failure();
  return reportOn(driver.getModule());
}

FailureOr<Report> ReportPage::reportOn(ModuleOp planned) {
  std::string error;
  FailureOr<Machine> machine = Machine::load(options.machine, error);
  if (failed(machine))
    return emitError(place) << error;
  FailureOr<Report> report = makeReport(planned, *machine);
  if (failed(report))
    return failure();
  StringRef input = place.getFilename().getValue();
  report->title = llvm::sys::path::filename(input).str();
  std::vector<ReportRemark> said = remarks.take();
  llvm::append_range(report->remarks, said);
  return report;
}

FailureOr<std::string> ReportPage::write(ModuleOp module,
                                         OwningOpRef<ModuleOp> unscheduled) {
  FailureOr<Report> report = detectPhase(module) == Phase::Planned
                                 ? reportOn(module)
                                 : planCopy(module.clone(), options.schedule);
  if (failed(report))
    return failure();
  std::string page;
  llvm::raw_string_ostream os(page);
  if (!unscheduled) {
    writeReport(*report, os);
    return page;
  }
  FailureOr<Report> other = planCopy(std::move(unscheduled), options.compare);
  if (failed(other))
    return failure();
  writeComparison(*report, *other, os);
  return page;
}
