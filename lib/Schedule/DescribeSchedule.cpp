// SPDX-License-Identifier: Apache-2.0

// Figures and remarks, in words of the person who asks why a step waits.

#include "DescribeSchedule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::weft;

std::string mlir::weft::getOpName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr))
    return name.getValue().str();
  return op->getName().getStringRef().str();
}

namespace {

/// As in "1.234 ms".
std::string formatTime(int64_t ns) {
  return llvm::formatv("{0:F3} ms", static_cast<double>(ns) / 1e6).str();
}

/// As in "310.0 MiB".
std::string formatBytes(int64_t bytes) {
  if (bytes < (1 << 10))
    return std::to_string(bytes) + " B";
  bool isLarge = bytes >= (1 << 20);
  double scaled = static_cast<double>(bytes) / (isLarge ? 1 << 20 : 1 << 10);
  return llvm::formatv("{0:F1} {1}", scaled, isLarge ? "MiB" : "KiB").str();
}

class Description {
public:
  Description(func::FuncOp func, const BlockProblem &block,
              const Schedule &schedule, const ScheduleOptions &options,
              int64_t limit, const CostModel &cost)
      : func(func), block(block), schedule(schedule), options(options),
        limit(limit), cost(cost), builder(func.getContext()) {}

  void run(bool isBrief) {
    ScheduleProblem problem = getScheduledProblem(block.problem, schedule);
    bool isLimited =
        options.memoryLimit > 0 && problem.getMostBytes() > options.memoryLimit;
    // Without a limit that binds, saying why takes no time.
    if (isBrief && isLimited)
      return setFigures(problem, schedule.bound.get(), /*isExplained=*/false);
    std::optional<Schedule> unlimited;
    if (isLimited && schedule.getAvoidableTime() > 0) {
      ScheduleOptions free = options;
      free.memoryLimit = 0;
      free.isThorough = false;
      unlimited = makeSchedule(problem, free);
      moreBytes = unlimited->result.peakBytes - options.memoryLimit;
      // What fits anyway is not limited by memory.
      if (moreBytes <= 0)
        unlimited.reset();
    }
    exposures =
        explainExposures(problem, schedule, unlimited ? &*unlimited : nullptr);
    setFigures(
        problem,
        isLimited ? getBoundWithin(block.problem, schedule, options.memoryLimit)
                  : schedule.bound.get(),
        /*isExplained=*/true);
    if (func.getContext()->getRemarkEngine())
      for (const Exposure &exposure : exposures)
        emitRemark(exposure);
  }

private:
  NamedAttribute number(StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  NamedAttribute text(StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  }

  std::string explain(const Exposure &exposure) const;
  void setFigures(const ScheduleProblem &problem, int64_t boundWithin,
                  bool isExplained);
  void emitRemark(const Exposure &exposure);

  func::FuncOp func;
  const BlockProblem &block;
  const Schedule &schedule;
  const ScheduleOptions &options;
  int64_t limit;
  const CostModel &cost;
  Builder builder;
  std::vector<Exposure> exposures;
  /// What the schedule without a limit needs beyond the limit.
  int64_t moreBytes = 0;
};

/// Why a collective is exposed, as a sentence without its subject.
std::string Description::explain(const Exposure &exposure) const {
  switch (exposure.cause) {
  case ExposureCause::Memory:
    return "limited by memory: " + formatBytes(moreBytes) +
           " more would hide it";
  case ExposureCause::Bandwidth:
    return "limited by bandwidth: its link is busy with others before it";
  case ExposureCause::Dependence: {
    std::optional<CollectiveCost> all =
        cost.getCollectiveCost(block.ops[exposure.task]);
    bool isShort = all && all->bytes < (1 << 16);
    return std::string("limited by ") + (isShort ? "latency" : "dependence") +
           ": it starts as soon as what it needs is there, and what follows "
           "needs it";
  }
  case ExposureCause::Order:
    return "limited by the order: starting it earlier would delay others more";
  }
  llvm_unreachable("a cause that is not listed");
}

void Description::setFigures(const ScheduleProblem &problem,
                             int64_t boundWithin, bool isExplained) {
  SmallVector<Attribute> waits;
  for (const Exposure &exposure : exposures)
    waits.push_back(builder.getDictionaryAttr(
        {text("op", getOpName(block.ops[exposure.task])),
         number("exposed_ns", exposure.nanoseconds),
         text("cause", stringifyExposureCause(exposure.cause)),
         text("why", explain(exposure))}));
  const ScheduleBound &bound = schedule.bound;
  int64_t numKept = llvm::count(schedule.kept, true);
  CostModel::Slowdown slowdown = cost.getSlowdown(func);
  SmallVector<NamedAttribute> figures = {
      text("policy", stringifySchedulePolicy(options.policy)),
      text("machine", cost.getMachine().name),
      number("step_ns", schedule.result.time),
      number("compute_ns", bound.compute),
      number("exposed_ns", schedule.result.getExposedTime()),
      number("communication_ns", problem.getCommunicationTime()),
      number("hideable_ns", schedule.getHideableTime(problem)),
      number("bound_ns", bound.get()),
      number("bound_within_limit_ns", boundWithin),
      number("bound_link_ns", bound.link),
      number("bound_path_ns", bound.path),
      number("bound_heads_and_tails_ns", bound.headsAndTails),
      number("bound_work_and_waits_ns", bound.workAndWaits),
      number("bound_two_paths_ns", bound.twoPaths),
      number("fixed_bytes", problem.fixedBytes),
      number("peak_bytes", schedule.result.peakBytes),
      number("memory_limit", limit),
      number("kept_gathers", numKept),
      number("compute_slowdown_ppm", slowdown.computePpm),
      number("memory_slowdown_ppm", slowdown.memoryPpm)};
  if (isExplained)
    figures.push_back(
        builder.getNamedAttr("exposed", builder.getArrayAttr(waits)));
  func->setAttr(WeftDialect::kScheduleAttr, builder.getDictionaryAttr(figures));
}

void Description::emitRemark(const Exposure &exposure) {
  Operation *op = block.ops[exposure.task];
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("exposed").category("weft-schedule"))
      << remark::add("'{0}' is exposed for {1} of its {2}: {3}", getOpName(op),
                     formatTime(exposure.nanoseconds),
                     formatTime(block.problem.task(exposure.task).duration),
                     explain(exposure))
      << remark::metric("exposed_ns", exposure.nanoseconds);
}

} // namespace

void mlir::weft::describeSchedule(func::FuncOp func, const BlockProblem &block,
                                  const Schedule &schedule,
                                  const ScheduleOptions &options, int64_t limit,
                                  const CostModel &cost, bool isBrief) {
  Description(func, block, schedule, options, limit, cost).run(isBrief);
}
