// SPDX-License-Identifier: Apache-2.0

// From the local phase to the planned one: kernels, the order of the step, its
// places in memory, and the proofs of each.

#ifndef WEFT_LIB_COMPILE_STEPPLANNER_H
#define WEFT_LIB_COMPILE_STEPPLANNER_H

#include "PassRunner.h"

#include "weft/Compile/Compile.h"
#include "weft/Cost/Machine.h"
#include "weft/Report/MakeReport.h"
#include "weft/Schedule/Scheduler.h"

#include <optional>

namespace mlir::weft {

class StepPlanner {
public:
  /// Changes `module`, which stays the caller's.
  StepPlanner(OwningOpRef<ModuleOp> &module, const CompileOptions &options,
              RemarkLog &remarks, PassRunner &runner)
      : module(module), options(options), remarks(remarks), runner(runner) {}

  /// The machine that the step is ordered for; one that cannot be read is an
  /// error of the pass.
  std::optional<Machine> loadMachine() const;

  /// Bytes that a rank may use: what was asked for, or what the machine has; 0:
  /// any number.
  int64_t getMemoryLimit() const;

  /// From the phase `from`, local or scheduled, to scheduled, or to planned if
  /// `to` is later. With `regathers` weights are gathered for each microbatch.
  LogicalResult run(Phase from, Phase to, bool regathers);

  /// Prints the memory of a planned module, with --stats, and checks that it
  /// stays within the limit.
  LogicalResult checkMemory(raw_ostream &said);

  /// Proves that the plan is one of what was planned here.
  LogicalResult prove();

  /// Bytes that an error of memory says are needed; 0 without one.
  int64_t getNeededBytes() const { return neededBytes; }

private:
  SchedulePassOptions getScheduleOptions() const;
  LogicalResult fuse();
  LogicalResult schedule();
  LogicalResult repeatCheap(const Machine &machine, int64_t before);
  OwningOpRef<ModuleOp> makeUnmarked();
  void noteRecomputed();
  LogicalResult plan(ModuleOp on, OwningOpRef<ModuleOp> &kept);
  LogicalResult chooseStreams(ModuleOp on);
  LogicalResult planScheduled();
  LogicalResult planWithinLimit(const Machine &machine, int64_t limit);
  LogicalResult checkScheduled(ModuleOp scheduled);

  OwningOpRef<ModuleOp> &module;
  const CompileOptions &options;
  RemarkLog &remarks;
  PassRunner &runner;
  /// A plan is asked for, and not only its order.
  bool plans = true;
  bool regathers = false;
  int64_t neededBytes = 0;
  /// What the many plans of a program have in common.
  KnownSchedules known;
  /// With proofs: what was planned here.
  OwningOpRef<ModuleOp> scheduled;
  /// With `--recompute auto`, and a limit or a small step: the module before it
  /// was fused.
  OwningOpRef<ModuleOp> unfused;
  /// Of a module with marks: what that was made from.
  OwningOpRef<ModuleOp> marked;
  /// What the module computes again; see describeRecomputed.
  ArrayAttr recomputed;
  /// With proofs: the module before it was fused and scheduled.
  OwningOpRef<ModuleOp> local;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_STEPPLANNER_H
