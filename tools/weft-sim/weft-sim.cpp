// SPDX-License-Identifier: Apache-2.0

// weft-sim: how a step would run on a machine that is described in a file.
// Compiles the step to the planned phase, the IR that is executed, and
// simulates it.

#include "Options.h"
#include "Summary.h"

#include "weft/Compile/Compile.h"

#include "weft/Report/MakeReport.h"
#include "weft/Simulate/Trace.h"
#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Support/Version.h"

#include "llvm/Support/Process.h"

using namespace mlir;
using namespace mlir::weft;

static int fail(const Twine &text, int code = 1) {
  llvm::errs() << "weft-sim: " << makePrintable(text.str()) << "\n";
  return code;
}

/// Reads the durations of a run; returns what is wrong.
static std::string loadDurations(const std::string &path,
                                 MeasuredDurations &durations) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code code = file.getError())
    return "cannot read '" + path + "': " + code.message();
  std::string error;
  auto read = readDurations((*file)->getBuffer(), path, error);
  if (failed(read))
    return error;
  durations = std::move(*read);
  return "";
}

/// Says which path cannot be read or written, before anything is read.
static std::string checkPaths(const SimOptions &options) {
  const std::string &machine = options.compile.machine;
  std::string machineFile = Machine::isShipped(machine) ? "" : machine;
  for (const std::string &path : {options.compile.input, options.durations})
    if (std::string problem = checkInputPath(path); !problem.empty())
      return problem;
  for (const std::string &path : {options.trace, options.report}) {
    std::string problem = path.empty() ? "" : checkOutputPath(path);
    if (!problem.empty())
      return problem;
  }
  return checkDistinctPaths(
      {{"--trace", options.trace}, {"--report", options.report}},
      {{"the input", options.compile.input},
       {"--machine", machineFile},
       {"--durations", options.durations}});
}

/// The step in the planned phase; null after an error.
static OwningOpRef<ModuleOp> compileInput(MLIRContext &context,
                                          const CompileOptions &options) {
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(options.input);
  if (std::error_code code = input.getError()) {
    fail("cannot read '" + options.input + "': " + code.message());
    return nullptr;
  }
  prepareContext(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer((*input)->getMemBufferRef(), false),
      llvm::SMLoc());
  PrintableStream said(llvm::errs());
  SourceMgrDiagnosticHandler handler(sources, &context, said);
  return compileModule(
      context, options,
      llvm::MemoryBuffer::getMemBuffer((*input)->getMemBufferRef(), false));
}

/// Says what does not fit together: machine, mesh and ranks that are named.
static std::string checkRanks(const SimOptions &options, const Machine &machine,
                              int64_t ranks) {
  std::string problem = machine.checkRanks(ranks);
  int64_t highest = options.simulate.rank;
  if (!options.simulate.slowRanks.empty())
    highest = std::max(highest, options.simulate.slowRanks.rbegin()->first);
  if (problem.empty() && highest >= ranks)
    problem = "there is no rank " + std::to_string(highest) +
              ": the mesh has " + std::to_string(ranks);
  return problem;
}

/// Simulates the step of a module; prints and writes what comes out.
static int simulateModule(ModuleOp module, const SimOptions &options,
                          const Machine &machine) {
  auto meshes = module.getOps<MeshOp>();
  MeshAttr mesh = meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh();
  std::string problem =
      checkRanks(options, machine, mesh ? mesh.getNumRanks() : 1);
  if (!problem.empty())
    return fail(problem);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic())
      continue;
    Simulation result =
        simulate(function, CostModel(machine, mesh), options.simulate);
    StagedFile trace, page;
    if (!options.trace.empty())
      problem = trace.write(options.trace, [&](raw_ostream &os) {
        writeTrace(result.timeline, os);
      });
    if (problem.empty() && !options.report.empty()) {
      Report report = makeReport(function, machine, result.timeline);
      report.title = result.timeline.title;
      problem = page.write(options.report,
                           [&](raw_ostream &os) { writeReport(report, os); });
    }
    for (StagedFile *file : {&trace, &page})
      if (problem.empty())
        problem = file->keep();
    if (!problem.empty())
      return fail(problem);
    PrintableStream summary(llvm::outs());
    printSummary(result, summary);
    return 0;
  }
  return fail("'" + options.compile.input + "' has no public function");
}

static int run(SimOptions options) {
  std::string error = checkPaths(options);
  if (!error.empty())
    return fail(error);
  MeasuredDurations durations;
  if (!options.durations.empty()) {
    error = loadDurations(options.durations, durations);
    options.simulate.measured = &durations;
  }
  if (!error.empty())
    return fail(error);
  MLIRContext context;
  OwningOpRef<ModuleOp> module = compileInput(context, options.compile);
  if (!module)
    return 1;
  auto machine = Machine::load(chooseMachine(options.compile, *module), error);
  return succeeded(machine) ? simulateModule(*module, options, *machine)
                            : fail(error);
}

static int runTool(ArrayRef<StringRef> arguments) {
  if (llvm::is_contained(arguments, "--help")) {
    printSimHelp(llvm::outs());
    return 0;
  }
  if (llvm::is_contained(arguments, "--version")) {
    printVersion(llvm::outs());
    return 0;
  }
  SimOptions options;
  std::string problem = parseSimOptions(arguments, options);
  if (!problem.empty())
    return fail(problem + "\nsee weft-sim --help", 2);
  options.compile.progress = llvm::sys::Process::StandardErrIsDisplayed();
  return run(options);
}

int main(int argc, char **argv) {
  initTool();
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  return runGuarded("weft-sim", [&] { return runTool(arguments); });
}
