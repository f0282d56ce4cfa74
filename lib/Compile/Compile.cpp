// SPDX-License-Identifier: Apache-2.0

// Runs the pipelines from the phase that the input is in to the one that the
// output needs, and writes the output.

#include "weft/Compile/Compile.h"

#include "FitPlan.h"
#include "PlannedFigures.h"
#include "weft/Analysis/PlanSummary.h"
#include "weft/Analysis/Traffic.h"
#include "weft/Conversion/WeftToHost/Passes.h"
#include "weft/Cost/CostModel.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/Weft/Transforms/ValuePasses.h"
#include "weft/InitAll.h"
#include "weft/Report/MakeReport.h"
#include "weft/Schedule/Figures.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Verify/Canonicalization.h"
#include "weft/Verify/Partitioning.h"
#include "weft/Verify/Passes.h"
#include "weft/Verify/Planning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

void weft::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  weft::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  // A diagnostic about a function would be followed by the whole step.
  context.printOpOnDiagnostic(false);
}

namespace {

/// Collectives that --stats names because they are waited for longest.
constexpr int kNumExposed = 8;

/// Buffers that --stats names at the peak.
constexpr unsigned kNumOwners = 10;

/// Shows the name of the running pass in one line, which disappears.
class Progress : public PassInstrumentation {
public:
  ~Progress() override { clear(); }
  void runBeforePass(Pass *pass, Operation *) override {
    clear();
    llvm::errs() << "weft-compile: " << pass->getName();
  }

private:
  /// Goes to the start of the line and erases it.
  void clear() { llvm::errs() << "\r\x1b[K"; }
};

/// One compilation: the options, and the module on its way.
class Compilation {
public:
  Compilation(MLIRContext &context, const CompileOptions &options,
              std::shared_ptr<RemarkLog> remarks)
      : context(context), options(options), remarks(std::move(remarks)) {}

  LogicalResult run(std::unique_ptr<llvm::MemoryBuffer> input, raw_ostream &os);

  /// Stops before anything is written; null after an error.
  OwningOpRef<ModuleOp> makeModule(std::unique_ptr<llvm::MemoryBuffer> input) {
    locate(*input);
    if (failed(parse(std::move(input))) || failed(compile()))
      return nullptr;
    return std::move(module);
  }

private:
  void locate(const llvm::MemoryBuffer &input) {
    inputLoc = FileLineColLoc::get(&context, input.getBufferIdentifier(), 1, 1);
  }
  /// The phase at which the output is written.
  Phase getLastPhase() const {
    return kind == OutputKind::Text ? options.to.value_or(Phase::Local)
                                    : Phase::Target;
  }

  LogicalResult fail(const std::string &text) {
    return emitError(inputLoc) << text;
  }
  LogicalResult checkPath();
  LogicalResult parse(std::unique_ptr<llvm::MemoryBuffer> input);
  LogicalResult checkRanks();
  LogicalResult runPipeline(ModuleOp on,
                            function_ref<void(OpPassManager &)> build);
  LogicalResult runPipeline(function_ref<void(OpPassManager &)> build) {
    return runPipeline(*module, build);
  }
  LogicalResult canonicalize();
  LogicalResult partition(Phase phase);
  LogicalResult provePartitioning(ModuleOp global);
  LogicalResult lower(Phase phase);
  std::optional<Machine> loadMachine();
  int64_t getMemoryLimit();
  LogicalResult plan(ModuleOp on);
  LogicalResult planWithinLimit(const Machine &machine, int64_t limit);
  LogicalResult runPlanPipeline();
  LogicalResult fuse();
  LogicalResult checkScheduled(ModuleOp scheduled);
  LogicalResult scheduleAndPlan(Phase phase);
  LogicalResult runPhases();
  bool fitsGatheredOnce();
  LogicalResult compile() {
    regather = !fitsGatheredOnce();
    return runPhases();
  }
  FailureOr<Report> planCopy(OwningOpRef<ModuleOp> copy, StringRef policy);
  FailureOr<Report> reportOn(ModuleOp planned);
  LogicalResult describe(OwningOpRef<ModuleOp> unscheduled);
  void printStats(raw_ostream &os);
  LogicalResult writeFile(StringRef path,
                          function_ref<LogicalResult(raw_ostream &)> print);
  LogicalResult write(raw_ostream &os);

  MLIRContext &context;
  const CompileOptions &options;
  OutputKind kind = OutputKind::Text;
  Location inputLoc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module;
  /// With proofs: what each plan is one of.
  DenseMap<Operation *, OwningOpRef<ModuleOp>> scheduledOf;
  /// With proofs: the module before it was fused and scheduled.
  OwningOpRef<ModuleOp> local;
  /// Weights are gathered for each microbatch.
  bool regather = false;
  /// With a report: what passes said, and the page.
  std::shared_ptr<RemarkLog> remarks;
  std::string page;
  /// What is printed besides diagnostics.
  PrintableStream said{llvm::errs()};
};

LogicalResult Compilation::checkPath() {
  for (StringRef path : {options.output, options.header, options.report}) {
    bool isFile = !path.empty() && path != "-";
    std::string problem = isFile ? checkOutputPath(path) : "";
    if (!problem.empty())
      return fail(problem);
  }
  StringRef machine = options.schedule.machine;
  std::string problem = checkDistinctPaths(
      {{"-o", options.output},
       {"--emit-header", options.header},
       {"--report", options.report}},
      {{"the input", options.input},
       {"--machine", Machine::isShipped(machine) ? StringRef() : machine}});
  return problem.empty() ? success() : fail(problem);
}

LogicalResult Compilation::parse(std::unique_ptr<llvm::MemoryBuffer> input) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), SMLoc());
  module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  // It says what was proved of a program that may have been edited since.
  (*module)->removeAttr(WeftDialect::kCertificateAttr);
  return success();
}

/// Checks that the mesh has as many ranks as were asked for; an axis that each
/// rank goes through by itself has none.
LogicalResult Compilation::checkRanks() {
  if (!options.ranks)
    return success();
  auto meshes = module->getOps<MeshOp>();
  if (!meshes.empty()) {
    MeshOp mesh = *meshes.begin();
    int64_t ranks = mesh.getMesh().getNumRanks() /
                    mesh.getMesh().getAxisSize(options.accumulate).value_or(1);
    if (ranks != *options.ranks)
      return mesh.emitOpError("has ")
             << ranks << " ranks, expected " << *options.ranks;
  } else if (*options.ranks != 1) {
    return module->emitError(
               "has no weft.mesh, so it runs on 1 rank, expected ")
           << *options.ranks;
  }
  return success();
}

LogicalResult
Compilation::runPipeline(ModuleOp on,
                         function_ref<void(OpPassManager &)> build) {
  PassManager pm(&context);
  // Once at the end instead of after each pass: a third of the time otherwise.
  pm.enableVerifier(false);
  if (options.progress)
    pm.addInstrumentation(std::make_unique<Progress>());
  build(pm);
  return success(succeeded(pm.run(on)) && succeeded(verify(on)));
}

/// Brings the user's module into canonical form, with the mesh that was asked
/// for, and proves that it is still the same program.
LogicalResult Compilation::canonicalize() {
  GlobalOptions global;
  for (const std::string &axis : options.mesh)
    global.mesh.push_back(axis);
  global.inferStorage = options.inferStorage;
  for (const std::string &axis : options.invariant)
    global.invariant.push_back(axis);
  global.leaves = options.leaves;
  global.partials = options.partials;
  global.accumulate = options.accumulate;
  OwningOpRef<ModuleOp> source;
  if (options.proofs)
    source = module->clone();
  if (failed(runPipeline(
          [&](OpPassManager &pm) { buildRaiseGlobalPipeline(pm, global); })))
    return failure();
  // Both say of every value which one it is.
  if (source && (failed(checkValues(*source)) ||
                 failed(verifyCanonicalization(*source, *module))))
    return failure();
  // Where sums are given orders they are compared over the reals.
  source = nullptr;
  if (options.proofs && !options.invariant.empty())
    source = module->clone();
  if (failed(runPipeline(
          [&](OpPassManager &pm) { buildOrderGlobalPipeline(pm, global); })))
    return failure();
  return source ? verifyCanonicalization(*source, *module) : success();
}

/// From the global phase to at most the local one.
LogicalResult Compilation::partition(Phase phase) {
  if (phase == Phase::Global && failed(canonicalize()))
    return failure();
  if (failed(checkRanks()))
    return failure();
  if (phase > Phase::Local || getLastPhase() == Phase::Global)
    return success();
  if (phase == Phase::Global) {
    OwningOpRef<ModuleOp> canonical;
    if (options.proofs)
      canonical = module->clone();
    if (failed(runPipeline([&](OpPassManager &pm) {
          buildPartitionPipeline(pm, {options.accumulate, regather});
        })))
      return failure();
    if (options.proofs && failed(provePartitioning(*canonical)))
      return failure();
  }
  // Of a program that was partitioned elsewhere, or edited, too.
  if (!options.proofs || !(*module)->hasAttr(WeftDialect::kInvarianceAttr))
    return success();
  return runPipeline(
      [](OpPassManager &pm) { pm.addPass(createVerifyInvariancePass()); });
}

/// A machine that cannot be read is an error of the pass.
std::optional<Machine> Compilation::loadMachine() {
  std::string error;
  FailureOr<Machine> machine = Machine::load(options.schedule.machine, error);
  return succeeded(machine) ? std::optional<Machine>(*machine) : std::nullopt;
}

/// Proves that the ranks compute the global program, if that can be followed.
LogicalResult Compilation::provePartitioning(ModuleOp global) {
  std::string unfollowed;
  LogicalResult proved = verifyPartitioning(global, *module, &unfollowed);
  if (!unfollowed.empty())
    mlir::emitWarning(inputLoc) << "partitioning is not proved: " << unfollowed;
  return proved;
}

/// Bytes that a rank may use: what was asked for, or what the machine has; 0:
/// any number.
int64_t Compilation::getMemoryLimit() {
  if (options.schedule.memoryLimit != 0)
    return std::max<int64_t>(0, options.schedule.memoryLimit);
  std::optional<Machine> machine = loadMachine();
  return machine ? machine->memoryBytes : 0;
}

/// Plans a scheduled module, of which a copy is kept.
LogicalResult Compilation::plan(ModuleOp on) {
  if (failed(runPipeline(on, [](OpPassManager &pm) {
        // What was written or changed by hand may lack names.
        pm.addPass(createNameOpsPass());
        pm.addPass(createVerifyScheduledPass());
      })))
    return failure();
  if (options.proofs)
    scheduledOf[on] = on.clone();
  return runPipeline(
      on, [](OpPassManager &pm) { pm.addPass(createPlanBuffersPass()); });
}

/// From the local phase to kernels that are not ordered yet.
LogicalResult Compilation::fuse() {
  if (options.proofs)
    local = module->clone();
  return runPipeline([&](OpPassManager &pm) {
    buildFuseHostPipeline(pm, options.mergeChannels);
  });
}

/// Proves that what is scheduled is the local program, whose certificate the
/// module has from here on.
LogicalResult Compilation::checkScheduled(ModuleOp scheduled) {
  if (!local)
    return success();
  if (failed(verifyScheduling(*local, scheduled)))
    return failure();
  if (Attribute proved = (*local)->getAttr(WeftDialect::kCertificateAttr))
    (*module)->setAttr(WeftDialect::kCertificateAttr, proved);
  return success();
}

LogicalResult Compilation::planWithinLimit(const Machine &machine,
                                           int64_t limit) {
  auto run = [&](ModuleOp copy, const SchedulePassOptions &chosen, bool plans) {
    if (failed(runPipeline(copy, [&](OpPassManager &pm) {
          pm.addPass(createSchedulePass(chosen));
        })))
      return failure();
    return plans ? plan(copy) : success();
  };
  OwningOpRef<ModuleOp> planned =
      PlanFitting(*module, options.schedule, machine, limit, *remarks, run)
          .fit();
  if (!planned)
    return failure();
  module = std::move(planned);
  // Only that of the plan that is taken is proved.
  return local ? checkScheduled(*scheduledOf.at(*module)) : success();
}

/// Plans a scheduled module.
LogicalResult Compilation::runPlanPipeline() {
  if (failed(plan(*module)))
    return failure();
  if (std::optional<Machine> machine = loadMachine())
    notePlannedFigures(*module, *machine);
  return success();
}

/// From the local phase to the scheduled and planned ones.
LogicalResult Compilation::scheduleAndPlan(Phase phase) {
  bool plans = getLastPhase() >= Phase::Planned;
  if (phase == Phase::Scheduled)
    return plans ? runPlanPipeline() : success();
  if (failed(fuse()))
    return failure();
  int64_t limit = getMemoryLimit();
  std::optional<Machine> machine = loadMachine();
  // Without a limit, too, what is fastest is known of plans alone.
  bool compares = limit > 0 || options.schedule.policy == "best";
  if (plans && machine && compares)
    return planWithinLimit(
        *machine, limit > 0 ? limit : std::numeric_limits<int64_t>::max());
  if (failed(runPipeline([&](OpPassManager &pm) {
        pm.addPass(createSchedulePass(options.schedule));
        pm.addPass(createVerifyScheduledPass());
      })) ||
      failed(checkScheduled(*module)))
    return failure();
  return plans ? runPlanPipeline() : success();
}

/// From the local phase on.
LogicalResult Compilation::lower(Phase phase) {
  OwningOpRef<ModuleOp> unscheduled;
  if (!options.compare.empty())
    unscheduled = module->clone();
  if (phase <= Phase::Scheduled && getLastPhase() >= Phase::Scheduled &&
      failed(scheduleAndPlan(phase)))
    return failure();
  std::optional<Machine> machine = loadMachine();
  if (machine && getLastPhase() >= Phase::Scheduled && phase < Phase::Target)
    warnOfUnknownRates(*module, *machine);
  if (options.stats && getLastPhase() >= Phase::Local &&
      detectPhase(*module) < Phase::Target) {
    // What is kept from the forward pass moves once.
    printStats(said);
    for (auto func : module->getOps<func::FuncOp>())
      printSchedule(func, kNumExposed, said);
  }
  if (detectPhase(*module) == Phase::Planned)
    for (auto func : module->getOps<func::FuncOp>()) {
      if (options.stats)
        printPlan(summarizePlan(func), kNumOwners, said);
      // An order that was given may need more than one that is chosen here.
      int64_t limit = getMemoryLimit();
      if (limit > 0 && failed(checkMemoryLimit(func, limit)))
        return failure();
    }
  // Of a program that was planned elsewhere, or edited, too.
  if (phase <= Phase::Planned && getLastPhase() >= Phase::Planned &&
      options.proofs && failed(runPipeline(buildVerifyPlannedPipeline)))
    return failure();
  // Nothing is known of what was planned elsewhere.
  auto scheduled = scheduledOf.find(*module);
  if (scheduled != scheduledOf.end() &&
      failed(verifyPlanning(*scheduled->second, *module)))
    return failure();
  scheduledOf.clear();
  if (!options.report.empty() && failed(describe(std::move(unscheduled))))
    return failure();
  if (phase == Phase::Target || getLastPhase() < Phase::Target)
    return success();
  FailureOr<bool> hasBF16 = convertsBF16(*module, options.host);
  if (failed(hasBF16))
    return failure();
  // The instruction flushes denormals, which the other CPUs keep.
  bool isInvariant = (*module)->hasAttr(WeftDialect::kInvarianceAttr);
  return runPipeline([&](OpPassManager &pm) {
    buildLowerHostPipeline(pm, /*expandBF16=*/!*hasBF16 || isInvariant);
  });
}

LogicalResult Compilation::runPhases() {
  Phase phase = detectPhase(*module), last = getLastPhase();
  if (phase > last)
    return fail(("is in phase '" + stringifyPhase(phase) +
                 "' already, cannot go back to '" + stringifyPhase(last) + "'")
                    .str());
  if (phase != Phase::Global && !options.mesh.empty())
    return fail("is in phase '" + stringifyPhase(phase).str() +
                "' already, its mesh cannot be changed");
  if (phase != Phase::Global && !options.invariant.empty())
    return fail("is in phase '" + stringifyPhase(phase).str() +
                "' already, its orders cannot be changed");
  if (phase != Phase::Global && !options.accumulate.empty())
    return fail("is in phase '" + stringifyPhase(phase).str() +
                "' already, its work is divided");
  if (phase == Phase::Target && !options.report.empty())
    return fail("is in phase 'llvm' already, which has no schedule to report");
  if (phase > Phase::Local && !options.compare.empty())
    return fail("is in phase '" + stringifyPhase(phase).str() +
                "' already, its schedule cannot be chosen again");
  // Of a program that enters later; the global pipeline begins with it.
  if (phase > Phase::Global && phase < Phase::Target &&
      failed(runPipeline(
          [](OpPassManager &pm) { pm.addPass(createCheckValuesPass()); })))
    return failure();
  if (failed(partition(phase)))
    return failure();
  return lower(phase);
}

/// Says whether weights that are gathered once for all microbatches fit in the
/// limit of memory, by planning a copy.
bool Compilation::fitsGatheredOnce() {
  if (options.accumulate.empty() || getMemoryLimit() == 0 ||
      getLastPhase() < Phase::Planned || detectPhase(*module) != Phase::Global)
    return true;
  CompileOptions changed = options;
  changed.to = Phase::Planned;
  changed.report.clear();
  changed.compare.clear();
  changed.stats = changed.proofs = changed.progress = false;
  // What is said of a copy that does not fit is nobody's error.
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {});
  Compilation other(context, changed, remarks);
  other.inputLoc = inputLoc;
  other.module = module->clone();
  return succeeded(other.runPhases());
}

/// Compiles a copy to the planned phase, with a policy, for a report alone.
FailureOr<Report> Compilation::planCopy(OwningOpRef<ModuleOp> copy,
                                        StringRef policy) {
  CompileOptions changed = options;
  changed.to = Phase::Planned;
  changed.schedule.policy = policy.str();
  changed.mesh.clear();
  changed.invariant.clear();
  changed.accumulate.clear();
  changed.report.clear();
  changed.compare.clear();
  changed.stats = changed.proofs = false;
  // Nobody asked what it takes to make the report.
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
  });
  Compilation other(context, changed, remarks);
  other.inputLoc = inputLoc;
  other.module = std::move(copy);
  if (failed(other.runPhases()))
    return failure();
  return other.reportOn(*other.module);
}

FailureOr<Report> Compilation::reportOn(ModuleOp planned) {
  std::string error;
  FailureOr<Machine> machine = Machine::load(options.schedule.machine, error);
  if (failed(machine))
    return fail(error);
  FailureOr<Report> report = makeReport(planned, *machine);
  if (failed(report))
    return failure();
  StringRef input = cast<FileLineColLoc>(inputLoc).getFilename().getValue();
  report->title = llvm::sys::path::filename(input).str();
  std::vector<ReportRemark> said = remarks->take();
  llvm::append_range(report->remarks, said);
  return report;
}

/// Makes the page that was asked for, while the module is at most planned.
LogicalResult Compilation::describe(OwningOpRef<ModuleOp> unscheduled) {
  FailureOr<Report> report =
      detectPhase(*module) == Phase::Planned
          ? reportOn(*module)
          : planCopy(module->clone(), options.schedule.policy);
  if (failed(report))
    return failure();
  llvm::raw_string_ostream os(page);
  if (!unscheduled) {
    writeReport(*report, os);
    return success();
  }
  FailureOr<Report> other = planCopy(std::move(unscheduled), options.compare);
  if (failed(other))
    return failure();
  writeComparison(*report, *other, os);
  return success();
}

/// Prints a line per kind of collective and axes, and the sum.
void Compilation::printStats(raw_ostream &os) {
  int64_t count = 0, bytes = 0;
  os << "bytes that each rank receives in a step:\n";
  auto line = [&](const Twine &name, int64_t count, int64_t bytes) {
    os << "  " << llvm::left_justify(name.str(), 40)
       << llvm::format("%6lld tensors %14lld B\n",
                       static_cast<long long>(count),
                       static_cast<long long>(bytes));
  };
  for (const TrafficEntry &entry : computeTraffic(*module)) {
    std::string axes;
    llvm::raw_string_ostream(axes) << entry.axes;
    line(stringifyCollectiveKind(entry.kind) + " " +
             StringRef(axes).drop_front(StringRef("#weft.axes").size()),
         entry.count, entry.bytes);
    count += entry.count;
    bytes += entry.bytes;
  }
  line("total", count, bytes);
}

/// Prints into memory, then to the file: what fails leaves no file.
LogicalResult
Compilation::writeFile(StringRef path,
                       function_ref<LogicalResult(raw_ostream &)> print) {
  SmallVector<char, 0> contents;
  llvm::raw_svector_ostream stream(contents);
  if (failed(print(stream)))
    return failure();
  std::string problem =
      writeOutputFile(path, [&](raw_ostream &file) { file << stream.str(); });
  return problem.empty() ? success() : fail(problem);
}

LogicalResult Compilation::write(raw_ostream &os) {
  auto printText = [&](raw_ostream &stream) {
    module->print(stream);
    return success();
  };
  switch (kind) {
  case OutputKind::Text:
    return options.output == "-" ? printText(os)
                                 : writeFile(options.output, printText);
  case OutputKind::LLVMIR:
    return writeFile(options.output, [&](raw_ostream &stream) {
      return emitLLVMIR(*module, options.host, stream);
    });
  case OutputKind::Object:
    return writeFile(options.output, [&](raw_ostream &stream) {
      SmallVector<char, 0> object;
      if (failed(emitObject(*module, options.host, object)))
        return failure();
      stream << StringRef(object.data(), object.size());
      return success();
    });
  case OutputKind::SharedLibrary:
    return linkSharedLibrary(*module, options.host, options.output);
  case OutputKind::Executable:
    return linkExecutable(*module, options.host, options.output);
  }
  llvm_unreachable("an output kind that is not listed");
}

LogicalResult Compilation::run(std::unique_ptr<llvm::MemoryBuffer> input,
                               raw_ostream &os) {
  kind = getOutputKind(options.output).value_or(OutputKind::Text);
  locate(*input);
  if (failed(checkPath()) || failed(parse(std::move(input))) ||
      failed(compile()) || failed(write(os)))
    return failure();
  if (!options.header.empty() &&
      failed(writeFile(options.header, [&](raw_ostream &stream) {
        return emitHeader(*module, stream);
      })))
    return failure();
  if (options.report.empty())
    return success();
  return writeFile(options.report, [&](raw_ostream &stream) {
    stream << page;
    return success();
  });
}

} // namespace

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

LogicalResult weft::compile(MLIRContext &context, const CompileOptions &options,
                            std::unique_ptr<llvm::MemoryBuffer> input,
                            raw_ostream &os) {
  auto log = hearRemarks(context, options);
  if (failed(log))
    return failure();
  return Compilation(context, options, *log).run(std::move(input), os);
}

OwningOpRef<ModuleOp>
weft::compileModule(MLIRContext &context, const CompileOptions &options,
                    std::unique_ptr<llvm::MemoryBuffer> input) {
  auto log = hearRemarks(context, options);
  if (failed(log))
    return nullptr;
  return Compilation(context, options, *log).makeModule(std::move(input));
}
