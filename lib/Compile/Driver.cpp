// SPDX-License-Identifier: Apache-2.0

// Runs the pipelines from the phase that the input is in to the one that the
// output needs.

#include "Driver.h"

#include "MemoryLoop.h"
#include "OffloadSearch.h"
#include "PlaceOnHost.h"
#include "PlannedFigures.h"
#include "RecomputeSearch.h"
#include "Statistics.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Cost/CostModel.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Partition/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Quantize/Passes.h"
#include "weft/Schedule/Passes.h"
#include "weft/Support/Printable.h"
#include "weft/Target/Target.h"
#include "weft/Verify/Elements/Canonicalization.h"
#include "weft/Verify/Elements/Passes.h"
#include "weft/Verify/Plan/Passes.h"
#include "weft/Verify/Sums/Partitioning.h"
#include "weft/Verify/Sums/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::weft;

/// Another partitioning has to save such a part of the time.
static constexpr int64_t kWorthChange = 100;

/// Fails if an option was given that the phase of the input has no use for.
LogicalResult Driver::refuseOption(bool isGiven, StringRef reason) {
  if (!isGiven)
    return success();
  return fail("the module is in phase '" + stringifyPhase(phase) +
              "' already, " + reason);
}

/// The first op, from outside inwards, of which `test` is true; null if there
/// is none.
static Operation *findFirst(ModuleOp module,
                            function_ref<bool(Operation *)> test) {
  Operation *first = nullptr;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!test(op))
      return WalkResult::advance();
    first = op;
    return WalkResult::interrupt();
  });
  return first;
}

/// Fails between two phases, and for ops of the LLVM dialect in a module of an
/// earlier one: nothing is proved of what was changed there.
LogicalResult Driver::checkIsPhase() {
  if (phase != Phase::Target)
    return success();
  auto isOf = [](Operation *op, StringRef dialect) {
    return op->getName().getDialectNamespace() == dialect;
  };
  if (Operation *planned = findFirst(*module, [&](Operation *op) {
        return isOf(op, rt::WeftRTDialect::getDialectNamespace());
      }))
    return planned->emitOpError(
        "is beside ops of the LLVM dialect: a module between "
        "'planned' and 'llvm' is in no phase");
  Operation *early = findFirst(*module, [&](Operation *op) {
    return isOf(op, WeftDialect::getDialectNamespace()) ||
           isa<func::FuncOp>(op);
  });
  Operation *llvm =
      findFirst(*module, [&](Operation *op) { return isOf(op, "llvm"); });
  if (early && llvm)
    return llvm->emitOpError(
        "is of the LLVM dialect, which only a module of phase 'llvm' has");
  return success();
}

/// Checks that the input can still become what was asked for.
LogicalResult Driver::checkPhase() {
  if (failed(checkIsPhase()) ||
      failed(refuseOption(phase > last, "cannot go back to '" +
                                            stringifyPhase(last).str() + "'")))
    return failure();
  bool isLate = phase != Phase::Global;
  if (failed(refuseOption(isLate && !options.mesh.empty(),
                          "its mesh cannot be changed")) ||
      failed(refuseOption(isLate && !options.invariant.empty(),
                          "its orders cannot be changed")) ||
      failed(refuseOption(isLate && !options.accumulate.empty(),
                          "its work is divided")) ||
      failed(refuseOption(phase > Phase::Local && !options.offload.empty(),
                          "whose values have their memory")) ||
      failed(chooseTarget()) ||
      failed(refuseOption(phase == Phase::Target && !options.report.empty(),
                          "which has no schedule to report")))
    return failure();
  return refuseOption(phase > Phase::Local && !options.compare.empty(),
                      "its schedule cannot be chosen again");
}

/// Gives the module the target that was asked for. Kernels of one are no
/// kernels of another.
LogicalResult Driver::chooseTarget() {
  std::string oldName = getTargetName(*module).str();
  DictionaryAttr oldOptions = getOwnTargetOptions(*module);
  StringAttr oldCPU = getTargetOption(*module, "cpu");
  weft::chooseTarget(options, *module);
  if (failed(refuseOption(getTargetName(*module) != oldName &&
                              phase >= Phase::Scheduled,
                          "for target '" + oldName + "'")) ||
      failed(refuseOption(getOwnTargetOptions(*module) != oldOptions &&
                              phase >= Phase::Scheduled,
                          "for other options of target '" + oldName + "'")) ||
      failed(refuseOption(getTargetOption(*module, "cpu") != oldCPU &&
                              phase == Phase::Target,
                          "for another CPU")))
    return failure();
  return success(lookupTarget(*module) != nullptr);
}

/// Of a mesh before or after it is divided among ranks: an axis whose parts
/// each rank computes one after the other has none.
static int64_t countRanks(MeshOp mesh, const CompileOptions &options) {
  return mesh.getMesh().getNumRanks() /
         mesh.getMesh().getAxisSize(options.accumulate).value_or(1);
}

/// Checks that the mesh has as many ranks as were asked for.
LogicalResult Driver::checkRanks() {
  if (!options.ranks)
    return success();
  auto meshes = module->getOps<MeshOp>();
  if (!meshes.empty()) {
    MeshOp mesh = *meshes.begin();
    int64_t ranks = countRanks(mesh, options);
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

/// Checks that the machine has as many ranks as the mesh: what it says of its
/// links does not hold for more. One that nobody asked for is no error.
LogicalResult Driver::checkMachine() {
  auto meshes = module->getOps<MeshOp>();
  std::optional<Machine> machine = planner.loadMachine();
  if (!machine || meshes.empty() || last < Phase::Scheduled ||
      phase >= Phase::Planned)
    return success();
  MeshOp mesh = *meshes.begin();
  std::string problem = machine->checkRanks(countRanks(mesh, options));
  if (problem.empty())
    return success();
  if (!options.hasDefaultMachine)
    return mesh.emitError(problem);
  mesh.emitWarning(problem) << ": --machine names another one";
  return success();
}

/// Brings the user's module into canonical form, with the mesh that was asked
/// for, and proves that it is still the same program.
LogicalResult Driver::canonicalize() {
  GlobalOptions global;
  for (const std::string &axis : options.mesh)
    global.mesh.push_back(axis);
  global.inferStorage = options.inferStorage;
  for (const std::string &axis : options.invariant)
    global.invariant.push_back(axis);
  global.leaves = options.leaves;
  global.partials = options.partials;
  global.accumulate = options.accumulate;
  global.attention = options.attention == "raise";
  // Twice is once.
  for (const std::string &format : options.quantize)
    if (!llvm::is_contained(global.quantize, format))
      global.quantize.push_back(format);
  // What the ops of quantization say, in ops that the proofs read. They are
  // checked as what they are raised to.
  if (failed(runner.runPasses(*module, [](OpPassManager &pm) {
        pm.addPass(createLowerQuantizationPass());
      })))
    return failure();
  OwningOpRef<ModuleOp> source;
  if (options.proofs)
    source = runner.keep(*module);
  if (failed(runPipeline(
          [&](OpPassManager &pm) { buildRaiseGlobalPipeline(pm, global); })))
    return failure();
  // Both say of every value which one it is.
  if (source &&
      (failed(checkValues(*source)) || failed(proveCanonicalization(*source))))
    return failure();
  source = nullptr;
  // Where sums are given orders they are compared over the reals.
  bool provesOrders = options.proofs && !options.invariant.empty();
  if (failed(runPipeline([&](OpPassManager &pm) {
        // Rounds otherwise than what was written: the pass proves what it
        // replaces, and all that follows is compared with what it leaves.
        buildRaiseAttentionPipeline(pm, global);
        // Computes otherwise than what was written, as it was asked to.
        buildQuantizePipeline(pm, global);
        if (!provesOrders)
          buildOrderGlobalPipeline(pm, global);
      })))
    return failure();
  if (!provesOrders)
    return success();
  source = runner.keep(*module);
  if (failed(runPipeline(
          [&](OpPassManager &pm) { buildOrderGlobalPipeline(pm, global); })))
    return failure();
  return proveCanonicalization(*source);
}

LogicalResult Driver::proveCanonicalization(ModuleOp source) {
  return runner.timed("proof of canonicalization",
                      [&] { return verifyCanonicalization(source, *module); });
}

/// Whether some attention reads keys that other ranks have, which are gathered
/// or travel.
static bool hasKeysOfOthers(ModuleOp local) {
  return local
      .walk([](AttentionOp op) {
        return isa_and_present<AllGatherOp, PermuteOp>(
                   op->getOperand(1).getDefiningOp())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What is the same once marks are gone is computed once: the same bits.
LogicalResult Driver::mergeWithoutMarks() {
  eraseBarriers(*module);
  return runPipeline(
      [](OpPassManager &pm) { pm.addPass(createMergeEqualOpsPass()); });
}

/// From the global phase to at most the local one.
LogicalResult Driver::partition() {
  if (options.recompute == "none")
    eraseBarriers(*module);
  if (failed(placeOnHost(*module, options.offload)))
    return failure();
  if (phase == Phase::Global && failed(canonicalize()))
    return failure();
  if (failed(checkRanks()) || failed(checkMachine()))
    return failure();
  if (phase > Phase::Local || last == Phase::Global)
    return success();
  // Ops are checked when they are kernels, if they become such.
  if (phase == Phase::Local)
    return failure(failed(runProofs([](OpPassManager &pm) {
                     pm.addPass(createVerifyLocalPass());
                   })) ||
                   (last == Phase::Local && failed(runner.checkOps(*module))) ||
                   failed(proveInvariance()));
  OwningOpRef<ModuleOp> canonical;
  if (options.proofs)
    canonical = runner.keep(*module);
  if (isUnmarked && failed(mergeWithoutMarks()))
    return failure();
  if (failed(runPipeline([&](OpPassManager &pm) {
        buildPartitionPipeline(pm, {options.accumulate, regather, ringAttention,
                                    options.machine, options.memoryLimit});
      })))
    return failure();
  mayHaveRings = hasKeysOfOthers(*module);
  if (options.proofs && failed(runner.timed("proof of partitioning", [&] {
        return verifyPartitioning(*canonical, *module);
      })))
    return failure();
  return proveInvariance();
}

/// Of a program that was partitioned elsewhere, or edited, too.
LogicalResult Driver::proveInvariance() {
  if (!options.proofs || !(*module)->hasAttr(WeftDialect::kInvarianceAttr))
    return success();
  return runProofs(
      [](OpPassManager &pm) { pm.addPass(createVerifyInvariancePass()); });
}

/// From the local phase to at most the planned one.
LogicalResult Driver::scheduleAndPlan() {
  if (!options.compare.empty())
    unscheduled = module->clone();
  if (phase <= Phase::Scheduled && last >= Phase::Scheduled &&
      failed(planner.run(phase, last, regather)))
    return failure();
  std::optional<Machine> machine = planner.loadMachine();
  if (machine && last >= Phase::Scheduled && phase < Phase::Target)
    warnOfUnknownRates(*module, *machine);
  // Of a program that was planned elsewhere, or edited, too.
  if (phase <= Phase::Planned && last >= Phase::Planned && options.proofs &&
      failed(runProofs(buildVerifyPlannedPipeline)))
    return failure();
  return planner.prove();
}

LogicalResult Driver::runPhases() {
  if (failed(checkPhase()))
    return failure();
  // Of a program that enters later; the global pipeline begins with it.
  if (phase > Phase::Global && phase < Phase::Target &&
      failed(runner.runPasses(
          *module,
          [](OpPassManager &pm) { pm.addPass(createCheckValuesPass()); })))
    return failure();
  // Those of a local program are checked later.
  if (phase > Phase::Local && phase < Phase::Target &&
      failed(runner.checkOps(*module)))
    return failure();
  if (failed(partition()))
    return failure();
  return scheduleAndPlan();
}

/// Those of a plan that is made for its figures alone.
CompileOptions Driver::getQuietOptions() const {
  CompileOptions quiet = options;
  quiet.to = Phase::Planned;
  quiet.report.clear();
  quiet.compare.clear();
  quiet.stats = quiet.proofs = quiet.progress = false;
  return quiet;
}

/// Nothing if weights that are gathered once for all microbatches fit in the
/// limit of memory, which planning a copy tells.
std::optional<Driver::TooLarge> Driver::planGatheredOnce() {
  if (options.accumulate.empty() || planner.getMemoryLimit() == 0 ||
      last < Phase::Planned || phase != Phase::Global)
    return std::nullopt;
  CompileOptions changed = getQuietOptions();
  // To gather again costs less than to compute again. Both are planned with all
  // effort then, so that it is enough to look quickly.
  if (changed.recompute == "auto") {
    changed.recompute = "marked";
    changed.effort = "quick";
  }
  TooLarge once;
  PassRunner quiet(*place.getContext(), changed.progress);
  Driver other(module->clone(), changed, Phase::Planned, place, remarks, quiet);
  if (succeeded(other.runPhases(once)))
    return std::nullopt;
  return once;
}

/// Runs the phases; what is said goes to `result`.
LogicalResult Driver::runPhases(TooLarge &result) {
  ScopedDiagnosticHandler handler(
      place.getContext(), [&](Diagnostic &diagnostic) {
        result.said.push_back(std::move(diagnostic));
      });
  LogicalResult isRight = runPhases();
  result.neededBytes = planner.getNeededBytes();
  return isRight;
}

static void emitAll(std::vector<Diagnostic> &said, MLIRContext *context) {
  for (Diagnostic &diagnostic : said)
    context->getDiagEngine().emit(std::move(diagnostic));
}

/// Says whether results have the same bits however the module is partitioned.
static bool isInvariant(ModuleOp module) {
  auto invariance =
      module->getAttrOfType<InvarianceAttr>(WeftDialect::kInvarianceAttr);
  auto meshes = module.getOps<MeshOp>();
  return invariance && llvm::all_of(meshes, [&](MeshOp mesh) {
           return llvm::all_of(mesh.getMesh().getAxes(),
                               [&](MeshAxisAttr axis) {
                                 return invariance.hasAxis(axis.getName());
                               });
         });
}

/// A plan that is found at once, if one fits.
OwningOpRef<ModuleOp> Driver::planAtOnce(bool unmarked, bool again) {
  CompileOptions changed = getQuietOptions();
  changed.effort = "quick";
  RemarkLog before = remarks;
  ScopedDiagnosticHandler handler(place.getContext(), [](Diagnostic &) {});
  PassRunner quiet(*place.getContext(), changed.progress);
  Driver other(module->clone(), changed, Phase::Planned, place, remarks, quiet);
  other.isUnmarked = unmarked;
  other.regather = again;
  other.ringAttention = ringAttention;
  LogicalResult isRight = other.runPhases();
  remarks = std::move(before);
  return failed(isRight) ? nullptr : std::move(other.module);
}

/// What marks have computed again may be partitioned otherwise than what it
/// repeats, and cost time however much memory there is. To leave it out changes
/// no bits where they do not depend on the partitioning.
bool Driver::isFasterUnmarked() {
  if (options.recompute != "auto" || options.schedule != "best" ||
      options.effort == "quick" || options.invariant.empty() ||
      planner.getMemoryLimit() == 0 || last < Phase::Planned ||
      phase != Phase::Global || !hasBarriers(*module) ||
      !RecomputeSearch::isSmall(*module))
    return false;
  OwningOpRef<ModuleOp> marked = planAtOnce(/*unmarked=*/false, regather);
  if (!marked || !isInvariant(*marked))
    return false;
  OwningOpRef<ModuleOp> unmarked = planAtOnce(/*unmarked=*/true, regather);
  int64_t time = getScheduleFigure(*marked, "step_ns");
  return unmarked && isInvariant(*unmarked) &&
         getScheduleFigure(*unmarked, "step_ns") < time - time / kWorthChange;
}

/// Says whether a small step that gathers once, and computes again, is faster
/// than one that gathers for each microbatch.
bool Driver::isFasterGatheredOnce() {
  if (options.recompute != "auto" || options.effort == "quick" ||
      !RecomputeSearch::isSmall(*module))
    return false;
  OwningOpRef<ModuleOp> once = planAtOnce(/*unmarked=*/false, /*again=*/false);
  if (!once)
    return false;
  OwningOpRef<ModuleOp> again = planAtOnce(/*unmarked=*/false, /*again=*/true);
  return !again || getScheduleFigure(*once, "step_ns") <
                       getScheduleFigure(*again, "step_ns");
}

/// Plans with gathers as they are to be; what is said goes to `result`.
LogicalResult Driver::planOnce(TooLarge &result) {
  isUnmarked = isFasterUnmarked();
  return runPhases(result);
}

/// Whether a plan with weights that are gathered once, which fits as marked, is
/// to be compared with one that gathers for each microbatch: without its marks
/// the step may fit only so, and be faster.
bool Driver::mayGatherAgain() {
  return !options.accumulate.empty() && options.recompute == "auto" &&
         options.schedule == "best" && options.effort != "quick" &&
         planner.getMemoryLimit() > 0 && last >= Phase::Planned &&
         phase == Phase::Global && hasBarriers(*module);
}

/// Whether something else may be faster by much.
static bool isFarFromBound(ModuleOp planned) {
  int64_t bound = getScheduleFigure(planned, "bound_ns");
  return getScheduleFigure(planned, "step_ns") - bound > bound / kWorthChange;
}

/// Weights are gathered once, or for each microbatch if that is faster.
LogicalResult Driver::planFasterGathers() {
  bool mayBeFaster = mayGatherAgain();
  OwningOpRef<ModuleOp> source = mayBeFaster ? module->clone() : nullptr;
  RemarkLog before = remarks;
  TooLarge once;
  LogicalResult isRight = planOnce(once);
  if (succeeded(isRight) && mayBeFaster && isFarFromBound(*module))
    takeFasterAgain(std::move(source), std::move(before), once);
  else
    emitAll(once.said, place.getContext());
  return isRight;
}

/// Of what is planned, which gathers once, and what gathers for each microbatch
/// the faster one is taken. The plan stands also if the other cannot be made.
void Driver::takeFasterAgain(OwningOpRef<ModuleOp> source, RemarkLog before,
                             TooLarge &once) {
  RemarkLog onceRemarks = std::exchange(remarks, std::move(before));
  Driver other(std::move(source), options, last, place, remarks, runner);
  other.regather = true;
  other.ringAttention = ringAttention;
  TooLarge again;
  bool isTaken = succeeded(other.planOnce(again)) &&
                 getScheduleFigure(*other.module, "step_ns") <
                     getScheduleFigure(*module, "step_ns");
  emitAll(isTaken ? again.said : once.said, place.getContext());
  if (!isTaken) {
    remarks = std::move(onceRemarks);
    return;
  }
  module = std::move(other.module);
  unscheduled = std::move(other.unscheduled);
}

/// Weights are gathered once, or else for each microbatch, or once where values
/// are computed again as well: what is faster. If nothing fits, the error is of
/// what needs least.
LogicalResult Driver::planMarked() {
  std::optional<TooLarge> least = planGatheredOnce();
  if (!least)
    return planFasterGathers();
  OwningOpRef<ModuleOp> source = module->clone();
  bool isOnceFirst = isFasterGatheredOnce();
  for (bool isAgain : {!isOnceFirst, isOnceFirst}) {
    if (!isAgain && options.recompute != "auto")
      break;
    module = source->clone();
    regather = isAgain;
    TooLarge other;
    bool isRight = succeeded(runPhases(other));
    if (isRight || other.neededBytes == 0) {
      emitAll(other.said, place.getContext());
      return success(isRight);
    }
    if (least->neededBytes == 0 || other.neededBytes < least->neededBytes)
      least = std::move(other);
  }
  emitAll(least->said, place.getContext());
  return failure();
}

/// The time of a step whose arguments are marked, if it fits.
std::optional<int64_t> Driver::tryPlan(ModuleOp marked) {
  CompileOptions changed = getQuietOptions();
  llvm::erase(changed.offload, kAutoOffload);
  // What is said is said again of the one that is taken.
  RemarkLog before = remarks;
  ScopedDiagnosticHandler handler(place.getContext(), [](Diagnostic &) {});
  PassRunner quiet(*place.getContext(), changed.progress);
  Driver other(marked.clone(), changed, Phase::Planned, place, remarks, quiet);
  LogicalResult fits = other.planRings();
  remarks = std::move(before);
  if (failed(fits))
    return std::nullopt;
  return getScheduleFigure(other.getModule(), "step_ns");
}

/// Without a limit nothing has to go. What is not scheduled here is marked
/// where it is.
void Driver::chooseOffloads() {
  if (!llvm::is_contained(options.offload, kAutoOffload) ||
      planner.getMemoryLimit() == 0 || phase > Phase::Local ||
      last < Phase::Scheduled)
    return;
  OffloadSearch(*module, [&](ModuleOp marked) {
    return tryPlan(marked);
  }).mark();
}

/// Errors go to `result`; what else is said is said at once.
LogicalResult Driver::planMarked(TooLarge &result) {
  ScopedDiagnosticHandler handler(
      place.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        result.said.push_back(std::move(diagnostic));
        return success();
      });
  LogicalResult isRight = planMarked();
  result.neededBytes = planner.getNeededBytes();
  return isRight;
}

/// `auto` weighs the forms of an attention without knowing what is computed
/// again for a limit. Where no plan fits with its choice, all rings are tried,
/// and none. If nothing fits, the error is of what needs least.
LogicalResult Driver::planRings() {
  if (ringAttention != "auto" || planner.getMemoryLimit() == 0 ||
      phase != Phase::Global || last < Phase::Scheduled)
    return planMarked();
  OwningOpRef<ModuleOp> source = module->clone();
  TooLarge least;
  for (StringRef tried : {"auto", "always", "never"}) {
    if (tried != "auto")
      module = source->clone();
    ringAttention = tried.str();
    TooLarge other;
    bool isRight = succeeded(planMarked(other));
    if (isRight || other.neededBytes == 0 || !mayHaveRings) {
      emitAll(other.said, place.getContext());
      return success(isRight);
    }
    if (least.neededBytes == 0 || other.neededBytes < least.neededBytes)
      least = std::move(other);
  }
  emitAll(least.said, place.getContext());
  return failure();
}

/// Says what the plan that was taken needs, and checks it.
LogicalResult Driver::checkTaken() {
  PrintableStream said(llvm::errs());
  Phase reached = detectPhase(*module);
  // What is kept from the forward pass moves once.
  if (options.stats && last >= Phase::Local && reached < Phase::Target)
    printStatistics(*module, said);
  return reached == Phase::Planned ? planner.checkMemory(said) : success();
}

LogicalResult Driver::plan() {
  chooseOffloads();
  return failure(failed(planRings()) || failed(checkTaken()));
}

LogicalResult Driver::lower() {
  if (phase == Phase::Target || last < Phase::Target)
    return success();
  const Target *target = lookupTarget(*module);
  if (!target)
    return failure();
  return runPipeline(
      [&](OpPassManager &pm) { target->buildLowerPipeline(*module, pm); });
}
