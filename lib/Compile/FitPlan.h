// SPDX-License-Identifier: Apache-2.0

// The fastest plan of a step within a limit of memory. Orders are chosen with
// an estimate of the memory that their plans need; what counts is the plan.

#ifndef WEFT_LIB_COMPILE_FITPLAN_H
#define WEFT_LIB_COMPILE_FITPLAN_H

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

class PlanFitting {
public:
  /// Schedules a fused module, and plans its memory if it is told to.
  using Run = std::function<LogicalResult(
      ModuleOp module, const SchedulePassOptions &options, bool plans)>;

  /// `options` say the policy; a plan may need `limit` bytes.
  PlanFitting(ModuleOp fused, const SchedulePassOptions &options,
              const Machine &machine, int64_t limit, RemarkLog &remarks,
              Run run)
      : fused(fused), options(options), machine(machine), limit(limit),
        remarks(remarks), run(std::move(run)) {}

  /// The plan, whose diagnostics and remarks are told; null after an error.
  OwningOpRef<ModuleOp> fit();

private:
  /// What came of scheduling and planning, and what was said meanwhile. A null
  /// module: it failed.
  struct Plan {
    OwningOpRef<ModuleOp> module;
    std::vector<Diagnostic> said;
    RemarkLog remarks;
    int64_t bytes = 0, nanoseconds = 0;
    /// What the scheduler counts on.
    int64_t estimatedBytes = 0, estimatedNanoseconds = 0, boundNanoseconds = 0;
  };

  SchedulePassOptions choose(StringRef policy, int64_t reserve,
                             bool isLean) const;
  Plan attempt(const SchedulePassOptions &chosen, bool plans = true);
  bool isLimited() const { return limit < std::numeric_limits<int64_t>::max(); }
  bool fits(const Plan &plan) const {
    return plan.module && plan.bytes <= limit;
  }
  bool isLoose(int64_t bytes) const;
  Plan &getLeast();
  int64_t getOffset();
  Plan fitPolicy(StringRef policy, Plan first);
  Plan fitReserve(StringRef policy, bool isLean, int64_t reserve, Plan first);
  Plan fitBetween(StringRef policy, bool isLean, int64_t low, Plan found,
                  int64_t high);
  void takeFaster(Plan &best, Plan other) const;
  void tryOtherPolicies(Plan &best);
  void tryLessMemory(Plan &best);
  OwningOpRef<ModuleOp> tell(Plan plan);
  OwningOpRef<ModuleOp> reportTooLarge();

  ModuleOp fused;
  const SchedulePassOptions &options;
  const Machine &machine;
  int64_t limit;
  RemarkLog &remarks;
  Run run;
  /// The plan that needs least memory, whatever the limit is.
  std::optional<Plan> least;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_FITPLAN_H
