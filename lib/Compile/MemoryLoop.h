// SPDX-License-Identifier: Apache-2.0

// The fastest plan of a step within a limit of memory. Orders are chosen with
// an estimate of the memory that their plans need; what counts is the plan.

#ifndef WEFT_LIB_COMPILE_MEMORYLOOP_H
#define WEFT_LIB_COMPILE_MEMORYLOOP_H

#include "weft/Report/MakeReport.h"
#include "weft/Schedule/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <limits>

namespace mlir::weft {

/// Bytes that a rank needs for a planned module, arguments and results
/// included.
int64_t getPlannedBytes(ModuleOp module);

class MemoryLoop {
public:
  /// Schedules a fused module.
  using Schedule = std::function<LogicalResult(
      ModuleOp module, const SchedulePassOptions &options)>;
  /// Plans the memory of a scheduled module, of which a copy is kept if the
  /// plan is to be proved.
  using PlanMemory = std::function<LogicalResult(
      ModuleOp module, OwningOpRef<ModuleOp> &scheduled)>;
  struct Fitted {
    /// Null after an error.
    OwningOpRef<ModuleOp> planned;
    /// What it is a plan of.
    OwningOpRef<ModuleOp> scheduled;
    /// What the plan needs.
    int64_t bytes = 0, nanoseconds = 0;
    /// No order of it is faster, if memory were no limit.
    int64_t boundNanoseconds = 0;
    /// What it computes again, if anybody knows; see describeRecomputed.
    ArrayAttr recomputed;
  };

  /// `options` say the policy; a plan may need `limit` bytes.
  MemoryLoop(ModuleOp fused, const SchedulePassOptions &options,
             const Machine &machine, int64_t limit, RemarkLog &remarks,
             Schedule schedule, PlanMemory planMemory)
      : fused(fused), options(options), machine(machine), limit(limit),
        remarks(remarks), schedule(std::move(schedule)),
        planMemory(std::move(planMemory)) {}

  /// Lets plans need no more than `bytes` instead of the limit. What there is
  /// to say is still said of the limit.
  void keepWithin(int64_t bytes) { limit = within = bytes; }

  /// The same for the least that the step is known to need: orders that are
  /// found within more do not need less.
  void keepWithinLeast(int64_t bytes) {
    keepWithin(bytes);
    looksForLeast = true;
  }

  /// Says whether the policy is `best`.
  bool takesBest() const { return options.policy == "best"; }

  /// Says whether orders are to be found at once.
  bool isQuick() const { return options.quick; }

  /// The plan, whose diagnostics and remarks are told.
  Fitted fit();

  /// Says that nothing needs less than `bytes`, which are more than the limit,
  /// and what of this program needs most.
  void reportTooLarge(int64_t bytes);

  /// Bytes of the plan that needs least of those that are found; 0 if there is
  /// none. If that is more than `enough`, orders of all policies are tried.
  int64_t getLeastBytes(int64_t enough = std::numeric_limits<int64_t>::max());

  /// Bytes and compute time of program order, by the estimate; less than 0 if
  /// it has none.
  struct Estimate {
    int64_t bytes = -1, computeNanoseconds = -1;
  };
  Estimate estimate();

  /// Bytes of an order that needs few, by the estimate.
  int64_t estimateLeanBytes();

  /// The time of an order that no limit binds, as the scheduler counts it.
  int64_t estimateUnlimitedNanoseconds();

  /// The time of a plan within the limit that is found at once; the most if
  /// none is.
  int64_t estimateNanoseconds();

private:
  /// What came of scheduling and planning, and what was said meanwhile. A null
  /// module: it failed.
  struct Plan {
    OwningOpRef<ModuleOp> module, scheduled;
    SchedulePassOptions chosen;
    std::vector<Diagnostic> said;
    RemarkLog remarks;
    int64_t bytes = 0, nanoseconds = 0;
    /// What the scheduler counts on.
    int64_t estimatedBytes = 0, estimatedNanoseconds = 0, boundNanoseconds = 0;
  };

  SchedulePassOptions choose(StringRef policy, int64_t reserve,
                             bool isLean) const;
  Plan attempt(const SchedulePassOptions &chosen, bool plans = true);
  bool fits(const Plan &plan) const {
    return plan.module && plan.bytes <= limit;
  }
  bool isLoose(int64_t bytes) const;
  /// What a plan needs, and what its order was estimated to need.
  struct Bytes {
    int64_t planned = 0, estimated = 0;
    int64_t getOffset() const { return planned - estimated; }
  };
  static Bytes getBytes(const Plan &plan) {
    return {plan.bytes, plan.estimatedBytes};
  }
  Plan &getLeast();
  Plan planAtOnce(StringRef policy);
  Plan planQuickly(StringRef policy, int64_t reserve, bool isLean,
                   int64_t within);
  void lookForLess(StringRef policy);
  void lookForLessElsewhere();
  bool isLeanAnyway(int64_t reserve);
  int64_t getOffset();
  Plan fitPolicy(StringRef policy, Plan first);
  Plan fitReserve(StringRef policy, bool isLean, int64_t reserve, Plan first);
  Plan fitBetween(StringRef policy, bool isLean, int64_t low, Plan found,
                  int64_t high);
  bool isLarge() const;
  bool hasManyTasks() const;
  /// Says whether it fits, and it is as fast as any, or almost.
  bool isAtBound(const Plan &plan) const;
  bool isLastOfLarge(const Plan &plan) const;
  bool isFitted(const Plan &plan) const;
  bool beatsOtherPolicies(const Plan &plan) const;
  void takeFaster(Plan &best, Plan other) const;
  void tryOtherPolicies(Plan &best);
  void tryLessMemory(Plan &best);
  Fitted tell(Plan plan);

  ModuleOp fused;
  const SchedulePassOptions &options;
  const Machine &machine;
  int64_t limit;
  /// What the scheduler is to keep to; 0: the limit of the options.
  int64_t within = 0;
  bool looksForLeast = false;
  RemarkLog &remarks;
  Schedule schedule;
  PlanMemory planMemory;
  /// The plan that needs least memory, whatever the limit is.
  std::optional<Plan> least;
  /// That of program order, and the less of that and of a lean order.
  Bytes inOrder, first;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_MEMORYLOOP_H
