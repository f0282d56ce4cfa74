// SPDX-License-Identifier: Apache-2.0

// weft-schedule: inner blocks first, as one task each of the block around them.

#include "ApplySchedule.h"
#include "BlockProblem.h"
#include "DescribeSchedule.h"
#include "GroupReductions.h"
#include "InFlight.h"
#include "weft/Schedule/FixedBytes.h"
#include "weft/Schedule/Passes.h"

#include "weft/Cost/Machine.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Schedule/Scheduler.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::weft {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "weft/Schedule/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// How often a loop runs; 1 if that is not known.
int64_t getTripCount(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return 1;
  std::optional<llvm::APInt> count = loop.getStaticTripCount();
  return count ? count->getSExtValue() : 1;
}

/// Collectives that may be in flight at once of those that a block starts: with
/// those of the blocks around it fewer than the 1024 of the runtime's ABI.
int getMaxInFlight(Block &block) {
  int count = 512;
  for (Operation *op = block.getParentOp();
       op->getBlock() && !isa<func::FuncOp>(op); op = op->getParentOp())
    count = std::max(1, count / 2);
  return count;
}

/// Schedules a block, with no more in flight than the runtime has room for.
Schedule scheduleBlock(Block &block, const ScheduleProblem &problem,
                       const ScheduleOptions &options) {
  Schedule schedule = makeSchedule(problem, options);
  int most = getMaxInFlight(block);
  auto numCollectives =
      llvm::count_if(problem.getTasks(), [](const ScheduleTask &task) {
        return task.isCollective();
      });
  if (numCollectives <= most)
    return schedule;
  ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
  schedule.result =
      replay(scheduled, limitInFlight(scheduled, schedule.result.events, most));
  return schedule;
}

/// What holds for memory, in bytes; see Passes.td.
struct Limits {
  /// 0: none.
  int64_t limit;
  /// Whether the limit is what the machine has.
  bool isMachine;
  int64_t within, reserve, leastBytes;
  bool isBrief;
};

/// Schedules one function.
class FunctionScheduling {
public:
  FunctionScheduling(func::FuncOp func, const CostModel &cost,
                     const ScheduleOptions &options, const Limits &limits)
      : func(func), cost(cost), options(options), limits(limits) {}

  LogicalResult run();

private:
  LogicalResult scheduleNested(Block &block);
  FailureOr<NestedCost> scheduleInner(Block &block);
  LogicalResult scheduleOuter(Block &block);
  ScheduleOptions getOuterOptions(int64_t within) const;
  LogicalResult reportTooLarge(const BlockProblem &block);

  func::FuncOp func;
  const CostModel &cost;
  const ScheduleOptions &options;
  const Limits &limits;
  llvm::DenseMap<Operation *, NestedCost> nested;
};

/// Schedules the blocks inside of the ops of `block`. A round takes as long as
/// the longest of an op's blocks.
LogicalResult FunctionScheduling::scheduleNested(Block &block) {
  for (Operation &op : block) {
    if (op.getNumRegions() == 0 || isa<rt::FusedOp>(op))
      continue;
    NestedCost all;
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        FailureOr<NestedCost> one = scheduleInner(inner);
        if (failed(one))
          return failure();
        all.nanoseconds = std::max(all.nanoseconds, one->nanoseconds);
        all.bytes = std::max(all.bytes, one->bytes);
      }
    all.nanoseconds *= getTripCount(&op);
    nested[&op] = all;
  }
  return success();
}

FailureOr<NestedCost> FunctionScheduling::scheduleInner(Block &block) {
  if (failed(scheduleNested(block)))
    return failure();
  FailureOr<BlockProblem> problem = buildBlockProblem(block, cost, nested);
  if (failed(problem))
    return failure();
  ScheduleOptions inner = options;
  if (options.isLean)
    inner.policy = SchedulePolicy::Sync;
  Schedule schedule = scheduleBlock(block, problem->problem, inner);
  applySchedule(block, *problem, schedule);
  return NestedCost{schedule.result.time, schedule.result.peakBytes};
}

/// Schedules are made for the limit less what the plan needs beyond the
/// estimate.
ScheduleOptions FunctionScheduling::getOuterOptions(int64_t within) const {
  ScheduleOptions outer = options;
  int64_t limit = within != 0 ? within : limits.limit;
  if (limit > 0)
    outer.memoryLimit = std::max<int64_t>(1, limit - limits.reserve);
  return outer;
}

/// Says how much is needed, and what by.
LogicalResult FunctionScheduling::reportTooLarge(const BlockProblem &block) {
  constexpr size_t kMaxNamed = 5;
  ScheduleOptions lean;
  lean.policy = SchedulePolicy::Sync;
  lean.isLean = lean.isBrief = true;
  ScheduleResult least = makeSchedule(block.problem, lean).result;
  // A plan that was tried knows better than the estimate.
  int64_t needed = limits.leastBytes > 0 ? limits.leastBytes
                                         : least.peakBytes + limits.reserve;
  InFlightDiagnostic diagnostic =
      func.emitOpError("needs ")
      << needed << " bytes at least, more than the " << limits.limit
      << " bytes "
      << (limits.isMachine ? "of machine '" + cost.getMachine().name + "'"
                           : "of the memory limit");
  diagnostic.attachNote(func.getLoc())
      << "arguments and results take " << block.problem.fixedBytes
      << " bytes all the time, and no order needs less than "
      << std::min(needed, computeLeastBytes(block.problem)) << " bytes";
  // A function that computes nothing has no events.
  std::vector<int> live;
  if (!least.events.empty())
    live = getLiveBuffers(block.problem, least.events, least.peakEvent);
  live.resize(std::min(live.size(), kMaxNamed));
  for (int buffer : live) {
    const ScheduleBuffer &made = block.problem.getBuffers()[buffer];
    Operation *op = block.ops[made.producer];
    if (made.bytes > 0)
      diagnostic.attachNote(op->getLoc())
          << "what " << getOpName(op) << " makes takes " << made.bytes
          << " bytes where most is needed";
  }
  if (limits.isMachine)
    diagnostic.attachNote(func.getLoc())
        << "'--memory-limit none' schedules it all the same";
  return diagnostic;
}

LogicalResult FunctionScheduling::scheduleOuter(Block &block) {
  // Program order stays as it is where nothing is ever ahead.
  if (options.policy != SchedulePolicy::Sync)
    groupReductions(block, cost);
  FailureOr<BlockProblem> problem = buildBlockProblem(block, cost, nested);
  if (failed(problem))
    return failure();
  problem->problem.fixedBytes = getFixedBytes(func);
  Schedule schedule =
      scheduleBlock(block, problem->problem, getOuterOptions(limits.within));
  if (!schedule.fits || limits.leastBytes > limits.limit)
    return reportTooLarge(*problem);
  // What the limit costs is told, not what the order kept to.
  describeSchedule(func, *problem, schedule, getOuterOptions(0), limits.limit,
                   cost, limits.isBrief);
  applySchedule(block, *problem, schedule);
  return success();
}

LogicalResult FunctionScheduling::run() {
  Block &block = func.getBody().front();
  WalkResult offloads = func.walk([](OptimizationBarrierOp op) {
    if (!op.getOffload())
      return WalkResult::advance();
    op.emitOpError("offloads a value, which weft-offload turns into copies "
                   "before they are scheduled");
    return WalkResult::interrupt();
  });
  if (offloads.wasInterrupted())
    return failure();
  if (failed(scheduleNested(block)) || failed(scheduleOuter(block)))
    return failure();
  // What they keep apart and in order has its place now.
  eraseBarriers(func);
  return success();
}

struct SchedulePass : public weft::impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;

  /// Null: what is found is forgotten after the pass.
  KnownSchedules *known = nullptr;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<SchedulePolicy> chosen = symbolizeSchedulePolicy(policy);
    if (!chosen) {
      module.emitError("unknown policy '")
          << policy << "', expected sync, next-layer, greedy or best";
      return signalPassFailure();
    }
    std::string error;
    FailureOr<Machine> description = Machine::load(machine, error);
    if (failed(description)) {
      module.emitError(error);
      return signalPassFailure();
    }
    ScheduleOptions options;
    options.policy = *chosen;
    options.isLean = lean;
    options.isBrief = brief;
    options.isQuick = quick;
    KnownSchedules own;
    options.known = known ? known : &own;
    bool isMachine = memoryLimit == 0 && description->memoryBytes > 0;
    Limits limits{isMachine ? description->memoryBytes
                            : std::max<int64_t>(0, memoryLimit),
                  isMachine,
                  within,
                  reserve,
                  leastBytes,
                  brief};
    CostModel cost(*description, module);
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal() &&
          failed(FunctionScheduling(func, cost, options, limits).run()))
        return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass>
mlir::weft::createSchedulePass(const SchedulePassOptions &options,
                               KnownSchedules &known) {
  auto pass = std::make_unique<SchedulePass>(options);
  pass->known = &known;
  return pass;
}

void mlir::weft::eraseOffloads(Operation *root) {
  root->walk([](OptimizationBarrierOp barrier) {
    if (!barrier.getOffload())
      return;
    barrier.replaceAllUsesWith(barrier.getInputs());
    barrier.erase();
  });
}

bool mlir::weft::hasBarriers(Operation *root) {
  return root
      ->walk([](OptimizationBarrierOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void mlir::weft::eraseBarriers(Operation *root) {
  root->walk([](OptimizationBarrierOp barrier) {
    if (barrier.getOffload())
      return;
    barrier.replaceAllUsesWith(barrier.getInputs());
    barrier.erase();
  });
}
