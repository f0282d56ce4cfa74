// SPDX-License-Identifier: Apache-2.0

// One compilation: reads the input, runs the phases, writes the outputs.

#include "weft/Compile/Compile.h"

#include "Driver.h"
#include "Outputs.h"
#include "ProcessorTimes.h"
#include "ReportPage.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/BuryPointer.h"

using namespace mlir;
using namespace mlir::weft;

void weft::prepareContext(MLIRContext &context) {
  registerAllTargets();
  DialectRegistry registry;
  weft::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  // A diagnostic about a function would be followed by the whole step.
  context.printOpOnDiagnostic(false);
}

/// Remarks are heard for a report, and printed if they were asked for.
static FailureOr<std::shared_ptr<RemarkLog>>
hearRemarks(MLIRContext &context, const CompileOptions &options) {
  if (!options.remarks && options.report.empty())
    return std::make_shared<RemarkLog>();
  std::shared_ptr<RemarkLog> log = logRemarks(context, options.remarks);
  if (!log)
    return failure();
  return log;
}

/// Where errors about files are.
static FileLineColLoc getPlace(MLIRContext &context,
                               const llvm::MemoryBuffer &input) {
  return FileLineColLoc::get(&context, input.getBufferIdentifier(), 1, 1);
}

/// Says in `options` which machine it is, and reads its description before all
/// else: passes that need it would speak of the module.
static LogicalResult settleMachine(Location place, ModuleOp module,
                                   CompileOptions &options) {
  options.hasDefaultMachine = options.machine.empty();
  options.machine = chooseMachine(options, module);
  std::string error;
  if (succeeded(Machine::load(options.machine, error)))
    return success();
  return emitError(place) << "--machine: " << error;
}

/// A module or function of which nobody says where it is, as those that are
/// made by tracing, begins where the file does; so does a module that the text
/// does not write out.
static void placeUnknown(ModuleOp module, FileLineColLoc place) {
  auto put = [&](Operation *op) {
    auto loc = dyn_cast<FileLineColLoc>(op->getLoc());
    if (isa<UnknownLoc>(op->getLoc()) || (loc && loc.getLine() == 0))
      op->setLoc(place);
  };
  put(module);
  llvm::for_each(*module.getBody(), [&](Operation &op) { put(&op); });
}

/// The input's module, or null.
static OwningOpRef<ModuleOp> parse(MLIRContext &context, FileLineColLoc place,
                                   std::unique_ptr<llvm::MemoryBuffer> input,
                                   PassRunner &runner) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), SMLoc());
  OwningOpRef<ModuleOp> module = runner.timed("reading", [&] {
    return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  });
  if (!module)
    return nullptr;
  // It says what was proved of a program that may have been edited since.
  (*module)->removeAttr(WeftDialect::kCertificateAttr);
  placeUnknown(*module, place);
  return module;
}

LogicalResult weft::compile(MLIRContext &context, const CompileOptions &asked,
                            std::unique_ptr<llvm::MemoryBuffer> input,
                            raw_ostream &os) {
  CompileOptions options = asked;
  auto remarks = hearRemarks(context, options);
  if (failed(remarks))
    return failure();
  ProcessorTimes times;
  if (options.timing)
    times.enable();
  llvm::scope_exit atExit([&] { times.print(llvm::errs()); });
  PassRunner runner(context, options.progress, times.getRootScope());
  FileLineColLoc place = getPlace(context, *input);
  Outputs outputs(options, place, os);
  if (failed(outputs.checkPaths()))
    return failure();
  OwningOpRef<ModuleOp> module =
      parse(context, place, std::move(input), runner);
  if (!module || failed(settleMachine(place, *module, options)))
    return failure();
  auto driver = std::make_unique<Driver>(
      std::move(module), options, outputs.getPhase(), place, **remarks, runner);
  // To free large modules op by op takes as long as to plan their memory.
  llvm::scope_exit atEnd([&] {
    if (options.endsProcess)
      llvm::BuryPointer(std::move(driver));
  });
  if (failed(driver->plan()))
    return failure();
  std::string page;
  if (!options.report.empty()) {
    FailureOr<std::string> written =
        ReportPage(options, place, **remarks)
            .write(driver->getModule(), driver->takeUnscheduled());
    if (failed(written))
      return failure();
    page = std::move(*written);
  }
  if (failed(driver->lower()))
    return failure();
  return outputs.write(driver->getModule(), page, runner);
}

OwningOpRef<ModuleOp>
weft::compileModule(MLIRContext &context, const CompileOptions &asked,
                    std::unique_ptr<llvm::MemoryBuffer> input) {
  CompileOptions options = asked;
  auto remarks = hearRemarks(context, options);
  if (failed(remarks))
    return nullptr;
  PassRunner runner(context, options.progress);
  FileLineColLoc place = getPlace(context, *input);
  OwningOpRef<ModuleOp> module =
      parse(context, place, std::move(input), runner);
  if (!module || failed(settleMachine(place, *module, options)))
    return nullptr;
  Driver driver(std::move(module), options, options.to.value_or(Phase::Local),
                place, **remarks, runner);
  if (failed(driver.plan()) || failed(driver.lower()))
    return nullptr;
  return driver.takeModule();
}
