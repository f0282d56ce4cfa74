// SPDX-License-Identifier: Apache-2.0

// Takes a module from phase to phase, and proves each step.

#ifndef WEFT_LIB_COMPILE_DRIVER_H
#define WEFT_LIB_COMPILE_DRIVER_H

#include "PassRunner.h"
#include "StepPlanner.h"

#include "weft/Compile/Compile.h"
#include "weft/Report/MakeReport.h"

namespace mlir::weft {

class Driver {
public:
  /// Ends at the phase `last`. `place` is the first line of the input.
  Driver(OwningOpRef<ModuleOp> module, const CompileOptions &options,
         Phase last, Location place, RemarkLog &remarks, PassRunner &runner)
      : module(std::move(module)), options(options), last(last), place(place),
        remarks(remarks), runner(runner),
        planner(this->module, options, remarks, runner),
        phase(detectPhase(*this->module)),
        ringAttention(options.ringAttention) {}
  Driver(const Driver &) = delete;

  /// From the phase that the module is in to the planned one, or to the last
  /// one if that is before.
  LogicalResult plan();

  /// From there to the last one.
  LogicalResult lower();

  ModuleOp getModule() const { return *module; }
  OwningOpRef<ModuleOp> takeModule() { return std::move(module); }

  /// With --compare: the module as it was before it was scheduled.
  OwningOpRef<ModuleOp> takeUnscheduled() { return std::move(unscheduled); }

private:
  LogicalResult fail(const Twine &text) { return emitError(place) << text; }
  LogicalResult refuseOption(bool isGiven, StringRef reason);
  LogicalResult checkPhase();
  LogicalResult checkIsPhase();
  LogicalResult chooseTarget();
  LogicalResult checkRanks();
  LogicalResult checkMachine();
  LogicalResult runPipeline(PassRunner::Build build) {
    return runner.runPipeline(*module, build);
  }
  /// Runs proofs, which change no op.
  LogicalResult runProofs(PassRunner::Build build) {
    return runner.runPasses(*module, build);
  }
  LogicalResult proveCanonicalization(ModuleOp source);
  LogicalResult canonicalize();
  LogicalResult partition();
  LogicalResult mergeWithoutMarks();
  LogicalResult proveInvariance();
  /// Why a program does not fit, and the bytes that it says are needed.
  struct TooLarge {
    std::vector<Diagnostic> said;
    int64_t neededBytes = 0;
  };
  LogicalResult runPhases(TooLarge &result);
  CompileOptions getQuietOptions() const;
  std::optional<TooLarge> planGatheredOnce();
  OwningOpRef<ModuleOp> planAtOnce(bool unmarked, bool again);
  bool isFasterGatheredOnce();
  bool isFasterUnmarked();
  LogicalResult planOnce(TooLarge &result);
  bool mayGatherAgain();
  LogicalResult planFasterGathers();
  void takeFasterAgain(OwningOpRef<ModuleOp> source, RemarkLog before,
                       TooLarge &once);
  LogicalResult planMarked();
  std::optional<int64_t> tryPlan(ModuleOp marked);
  void chooseOffloads();
  LogicalResult planMarked(TooLarge &result);
  LogicalResult planRings();
  LogicalResult checkTaken();
  LogicalResult scheduleAndPlan();
  LogicalResult runPhases();

  OwningOpRef<ModuleOp> module;
  const CompileOptions &options;
  Phase last;
  Location place;
  RemarkLog &remarks;
  PassRunner &runner;
  StepPlanner planner;
  /// The one that the module came in.
  Phase phase;
  /// Weights are gathered for each microbatch.
  bool regather = false;
  /// Marks are gone when the program is partitioned.
  bool isUnmarked = false;
  /// What is tried of --ring-attention, and whether that decides anything.
  std::string ringAttention;
  bool mayHaveRings = false;
  OwningOpRef<ModuleOp> unscheduled;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_DRIVER_H
