// SPDX-License-Identifier: Apache-2.0

// Where memory is limited, or the fastest of all policies is wanted, the order
// is chosen by the plans that it leads to (MemoryLoop.h); else it is planned
// once.

#include "StepPlanner.h"

#include "MemoryLoop.h"
#include "PlannedFigures.h"
#include "RecomputeSearch.h"
#include "Statistics.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Codegen/Planning/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Cost/CostModel.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Recomputation.h"
#include "weft/Verify/Elements/Passes.h"
#include "weft/Verify/Plan/Passes.h"
#include "weft/Verify/Plan/Planning.h"
#include "weft/Verify/Sums/Passes.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

/// Part of the compute time that computing again must save to be worth it.
static constexpr int64_t kWorth = 1000;

/// What the kernels and products of a fused module take.
static int64_t getComputeNanoseconds(ModuleOp fused, const Machine &machine) {
  CostModel cost(machine, fused);
  int64_t sum = 0;
  for (auto func : fused.getOps<func::FuncOp>())
    if (!func.isExternal())
      for (Operation &op : func.getBody().front())
        sum += cost.getComputeNanoseconds(&op);
  return sum;
}

std::optional<Machine> StepPlanner::loadMachine() const {
  std::string error;
  FailureOr<Machine> machine = Machine::load(options.machine, error);
  return succeeded(machine) ? std::optional<Machine>(*machine) : std::nullopt;
}

SchedulePassOptions StepPlanner::getScheduleOptions() const {
  SchedulePassOptions pass;
  pass.policy = options.schedule;
  pass.quick = options.effort == "quick";
  pass.machine = options.machine;
  pass.memoryLimit = options.memoryLimit;
  return pass;
}

int64_t StepPlanner::getMemoryLimit() const {
  if (options.memoryLimit != 0)
    return std::max<int64_t>(0, options.memoryLimit);
  std::optional<Machine> machine = loadMachine();
  return machine ? machine->memoryBytes : 0;
}

/// From the local phase to kernels that are not ordered yet.
LogicalResult StepPlanner::fuse() {
  if (options.proofs)
    local = runner.keep(*module);
  if (options.recompute == "auto" && hasBarriers(*module))
    marked = module->clone();
  // Their ops are checked when they are kernels.
  if (failed(runner.runPasses(*module, [&](OpPassManager &pm) {
        buildUnfusedPipeline(pm, options.mergeChannels);
      })))
    return failure();
  std::optional<Machine> machine = loadMachine();
  bool isMarked = hasBarriers(*module);
  if (machine && isMarked)
    recomputed = describeRecomputed(*module, *machine);
  bool isAuto = machine && options.recompute == "auto";
  // What a user marked is to be as it was marked.
  int64_t gain = isAuto && !isMarked ? getCheapGain(*module, *machine) : 0;
  bool isSearched =
      isAuto && (getMemoryLimit() > 0 ||
                 (options.schedule == "best" &&
                  (isMarked || RecomputeSearch::isSmall(*module))));
  if (gain > 0 || isSearched)
    unfused = module->clone();
  // What is taken of them is checked when it is ordered.
  if (failed(runner.runPasses(*module, buildKernelPipeline)))
    return failure();
  int64_t before = gain > 0 ? getComputeNanoseconds(*module, *machine) : 0;
  if (gain > 0 && gain >= before / kWorth &&
      failed(repeatCheap(*machine, before)))
    return failure();
  if (!isSearched) {
    unfused = nullptr;
    marked = nullptr;
  }
  return success();
}

/// What the program's marks keep apart is merged while nothing has a name yet.
OwningOpRef<ModuleOp> StepPlanner::makeUnmarked() {
  if (!marked)
    return unfused->clone();
  OwningOpRef<ModuleOp> plain = marked->clone();
  eraseBarriers(*plain);
  mergeRepeated(*plain, regathers);
  if (failed(runner.runPasses(*plain, [&](OpPassManager &pm) {
        buildUnfusedPipeline(pm, options.mergeChannels);
      })))
    return nullptr;
  return plain;
}

/// What costs less to compute again than to keep, where memory costs nothing,
/// is computed again: as far as the kernels that come of it take less time than
/// `before`, which those of the module take.
LogicalResult StepPlanner::repeatCheap(const Machine &machine, int64_t before) {
  OwningOpRef<ModuleOp> changed = unfused->clone();
  ChooseSavedPassOptions pass;
  pass.machine = options.machine;
  pass.time = true;
  if (failed(runner.runPasses(*changed, [&](OpPassManager &pm) {
        pm.addPass(createChooseSavedPass(pass));
      })))
    return failure();
  ArrayAttr cheap = describeRecomputed(*changed, machine);
  if (cheap.empty())
    return success();
  if (failed(runner.runPasses(*changed, buildKernelPipeline)))
    return failure();
  if (before - getComputeNanoseconds(*changed, machine) <= before / kWorth)
    return success();
  module = std::move(changed);
  recomputed = cheap;
  return success();
}

/// Adds what is computed again to the figures of the schedule.
void StepPlanner::noteRecomputed() {
  if (!recomputed || recomputed.empty())
    return;
  for (auto func : module->getOps<func::FuncOp>()) {
    auto figures =
        func->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr);
    if (!figures)
      continue;
    NamedAttrList fields(figures);
    fields.set("recomputed", recomputed);
    func->setAttr(WeftDialect::kScheduleAttr,
                  fields.getDictionary(func.getContext()));
  }
}

/// Plans a scheduled module, of which a copy is kept, and notes the plan's
/// figures. Many plans are tried: that their ops are right is for whoever takes
/// one to check.
LogicalResult StepPlanner::plan(ModuleOp on, OwningOpRef<ModuleOp> &kept) {
  if (failed(runner.runPasses(on, [](OpPassManager &pm) {
        // What was written or changed by hand may lack names.
        pm.addPass(createNameOpsPass());
        pm.addPass(createVerifyScheduledPass());
      })))
    return failure();
  if (options.proofs || !plans)
    kept = runner.keep(on);
  if (failed(runner.runPasses(
          on, [](OpPassManager &pm) { pm.addPass(createPlanBuffersPass()); })))
    return failure();
  return chooseStreams(on);
}

/// Puts sums on the streams of channels where the plan is no slower for it: a
/// link that has more to do than what computes is better left alone.
LogicalResult StepPlanner::chooseStreams(ModuleOp on) {
  std::optional<Machine> machine = loadMachine();
  auto finish = [&](ModuleOp plan, bool moves) -> FailureOr<int64_t> {
    if (failed(runner.runPasses(plan, [&](OpPassManager &pm) {
          if (moves)
            pm.addPass(createAssignStreamsPass());
          pm.addPass(createShareLaunchesPass());
        })))
      return failure();
    return machine ? notePlannedFigures(plan, *machine) : 0;
  };
  OwningOpRef<ModuleOp> unmoved;
  if (machine && hasScatteredSums(on))
    unmoved = on.clone();
  FailureOr<int64_t> moved = finish(on, /*moves=*/true);
  if (failed(moved) || !unmoved)
    return moved;
  FailureOr<int64_t> plain = finish(*unmoved, /*moves=*/false);
  if (failed(plain))
    return failure();
  if (*plain < *moved)
    on.getBodyRegion().takeBody(unmoved->getBodyRegion());
  return success();
}

LogicalResult StepPlanner::planScheduled() {
  return success(succeeded(plan(*module, scheduled)) &&
                 succeeded(runner.checkOps(*module)));
}

/// Proves that what is scheduled is the local program, whose certificate the
/// module has from here on.
LogicalResult StepPlanner::checkScheduled(ModuleOp scheduled) {
  if (!local)
    return success();
  if (failed(runner.timed("proof of scheduling",
                          [&] { return verifyScheduling(*local, scheduled); })))
    return failure();
  if (Attribute proved = (*local)->getAttr(WeftDialect::kCertificateAttr))
    (*module)->setAttr(WeftDialect::kCertificateAttr, proved);
  return success();
}

/// Whether hardly anything is faster.
static bool isNearBound(const MemoryLoop::Fitted &fitted) {
  constexpr int64_t kTolerated = 100;
  return fitted.nanoseconds - fitted.boundNanoseconds <=
         fitted.boundNanoseconds / kTolerated;
}

LogicalResult StepPlanner::planWithinLimit(const Machine &machine,
                                           int64_t limit) {
  auto schedule = [&](ModuleOp copy, const SchedulePassOptions &chosen) {
    if (chosen.leastBytes > 0)
      neededBytes = chosen.leastBytes;
    return runner.runPasses(copy, [&](OpPassManager &pm) {
      pm.addPass(createSchedulePass(chosen, known));
    });
  };
  auto planMemory = [&](ModuleOp copy, OwningOpRef<ModuleOp> &kept) {
    return plan(copy, kept);
  };
  SchedulePassOptions chosen = getScheduleOptions();
  auto makeLoop = [&](ModuleOp of) {
    return MemoryLoop(of, chosen, machine, limit, remarks, schedule,
                      planMemory);
  };
  auto makePlain = [&] { return makeUnmarked(); };
  std::optional<RecomputeSearch> search;
  if (unfused)
    search.emplace(*unfused, *module, recomputed, options.machine, machine,
                   limit, remarks, runner, makeLoop, makePlain);
  RemarkLog before = remarks;
  MemoryLoop::Fitted fitted = search ? search->fit() : makeLoop(*module).fit();
  // Of a small step few programs are planned with all effort. One that was not
  // may be faster as it is found at once.
  if (fitted.planned && search && !chosen.quick && options.schedule == "best" &&
      RecomputeSearch::isSmall(*unfused) && !isNearBound(fitted)) {
    chosen.quick = true;
    RemarkLog searched = std::exchange(remarks, std::move(before));
    MemoryLoop::Fitted atOnce;
    {
      ScopedDiagnosticHandler quiet(module->getContext(), [](Diagnostic &) {});
      atOnce = search->fitAgain();
    }
    if (atOnce.planned && atOnce.nanoseconds < fitted.nanoseconds)
      fitted = std::move(atOnce);
    else
      remarks = std::move(searched);
  }
  search.reset();
  unfused = nullptr;
  marked = nullptr;
  if (!fitted.planned)
    return failure();
  if (fitted.recomputed)
    recomputed = fitted.recomputed;
  // Only the plan that is taken is checked and proved.
  if (!plans) {
    module = std::move(fitted.scheduled);
    return success(succeeded(runner.checkOps(*module)) &&
                   succeeded(checkScheduled(*module)));
  }
  module = std::move(fitted.planned);
  scheduled = std::move(fitted.scheduled);
  if (failed(runner.checkOps(*module)) ||
      (scheduled && failed(runner.checkOps(*scheduled))))
    return failure();
  return scheduled ? checkScheduled(*scheduled) : success();
}

LogicalResult StepPlanner::run(Phase from, Phase to, bool regathers) {
  this->regathers = regathers;
  plans = to > Phase::Scheduled;
  neededBytes = 0;
  recomputed = nullptr;
  if (from == Phase::Scheduled)
    return plans ? planScheduled() : success();
  if (failed(fuse()) || failed(schedule()))
    return failure();
  noteRecomputed();
  return success();
}

/// From kernels to their order, or their plan.
LogicalResult StepPlanner::schedule() {
  int64_t limit = getMemoryLimit();
  std::optional<Machine> machine = loadMachine();
  // Without a limit, too, what is fastest is known of plans alone; a scheduled
  // module is that of the plan that would be taken.
  bool compares = limit > 0 || options.schedule == "best";
  if (machine && compares)
    return planWithinLimit(
        *machine, limit > 0 ? limit : std::numeric_limits<int64_t>::max());
  if (failed(runner.runPipeline(*module,
                                [&](OpPassManager &pm) {
                                  pm.addPass(
                                      createSchedulePass(getScheduleOptions()));
                                  pm.addPass(createVerifyScheduledPass());
                                })) ||
      failed(checkScheduled(*module)))
    return failure();
  return plans ? planScheduled() : success();
}

LogicalResult StepPlanner::checkMemory(raw_ostream &said) {
  for (auto func : module->getOps<func::FuncOp>()) {
    if (options.stats)
      printMemory(func, said);
    // An order that was given may need more than one that is chosen here.
    int64_t limit = getMemoryLimit();
    if (limit > 0 && failed(checkMemoryLimit(func, limit)))
      return failure();
  }
  return success();
}

LogicalResult StepPlanner::prove() {
  // Nothing is known of what was planned elsewhere.
  if (scheduled && failed(runner.timed("proof of planning", [&] {
        return verifyPlanning(*scheduled, *module);
      })))
    return failure();
  scheduled = nullptr;
  return success();
}
