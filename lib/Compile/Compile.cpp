// SPDX-License-Identifier: Apache-2.0

// Runs the pipelines from the phase that the input is in to the one that the
// output needs, and writes the output.

#include "weft/Compile/Compile.h"

#include "OutputPath.h"
#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/InitAll.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Format.h"

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
  Compilation(MLIRContext &context, const CompileOptions &options)
      : context(context), options(options) {}

  LogicalResult run(std::unique_ptr<llvm::MemoryBuffer> input, raw_ostream &os);

private:
  /// The phase at which the output is written.
  Phase getLastPhase() const { return options.to.value_or(Phase::Local); }

  LogicalResult fail(const std::string &text) {
    return emitError(inputLoc) << text;
  }
  LogicalResult checkPath();
  LogicalResult parse(std::unique_ptr<llvm::MemoryBuffer> input);
  LogicalResult checkRanks();
  LogicalResult partition();
  LogicalResult runPhases();
  void printStats(raw_ostream &os);
  LogicalResult write(raw_ostream &os);

  MLIRContext &context;
  const CompileOptions &options;
  Location inputLoc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module;
};

LogicalResult Compilation::checkPath() {
  if (options.output == "-")
    return success();
  std::string problem = checkOutputPath(options.output);
  return problem.empty() ? success() : fail(problem);
}

LogicalResult Compilation::parse(std::unique_ptr<llvm::MemoryBuffer> input) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), SMLoc());
  module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  return success(static_cast<bool>(module));
}

/// Checks that the mesh has as many ranks as were asked for.
LogicalResult Compilation::checkRanks() {
  if (!options.ranks)
    return success();
  auto meshes = module->getOps<MeshOp>();
  if (!meshes.empty()) {
    MeshOp mesh = *meshes.begin();
    if (mesh.getMesh().getNumRanks() != *options.ranks)
      return mesh.emitOpError("has ") << mesh.getMesh().getNumRanks()
                                      << " ranks, expected " << *options.ranks;
  } else if (*options.ranks != 1) {
    return module->emitError(
               "has no weft.mesh, so it runs on 1 rank, expected ")
           << *options.ranks;
  }
  return success();
}

LogicalResult Compilation::partition() {
  PassManager pm(&context);
  if (options.progress)
    pm.addInstrumentation(std::make_unique<Progress>());
  buildPartitionPipeline(pm);
  return pm.run(*module);
}

/// Brings a global module into canonical form, with the mesh that was asked
/// for; a later phase has its mesh.
LogicalResult canonicalizeGlobal(ModuleOp module,
                                 const CompileOptions &options) {
  GlobalOptions global;
  for (const std::string &axis : options.mesh)
    global.mesh.push_back(axis);
  global.inferStorage = options.inferStorage;
  PassManager pm(module.getContext());
  buildCanonicalizeGlobalPipeline(pm, global);
  return pm.run(module);
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
  if (phase == Phase::Global && failed(canonicalizeGlobal(*module, options)))
    return failure();
  if (failed(checkRanks()))
    return failure();
  if (phase == Phase::Global && last == Phase::Local && failed(partition()))
    return failure();
  if (last == Phase::Local && options.stats)
    printStats(llvm::errs());
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

/// Writes text to the output file, or to standard output.
LogicalResult Compilation::write(raw_ostream &os) {
  if (options.output == "-") {
    module->print(os);
    return success();
  }
  std::string problem = writeOutputFile(
      options.output, [&](raw_ostream &file) { module->print(file); });
  return problem.empty() ? success() : fail(problem);
}

LogicalResult Compilation::run(std::unique_ptr<llvm::MemoryBuffer> input,
                               raw_ostream &os) {
  inputLoc = FileLineColLoc::get(&context, input->getBufferIdentifier(), 1, 1);
  if (failed(checkPath()) || failed(parse(std::move(input))) ||
      failed(runPhases()))
    return failure();
  return write(os);
}

/// Lets passes' remarks through as diagnostics.
LogicalResult enableRemarks(MLIRContext &context) {
  // Each kind has a filter; the one for all alone enables none.
  remark::RemarkCategories categories{".*", ".*", ".*", ".*", ".*"};
  return remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
}

} // namespace

LogicalResult weft::compile(MLIRContext &context, const CompileOptions &options,
                            std::unique_ptr<llvm::MemoryBuffer> input,
                            raw_ostream &os) {
  if (options.remarks && failed(enableRemarks(context)))
    return failure();
  return Compilation(context, options).run(std::move(input), os);
}
