// SPDX-License-Identifier: Apache-2.0

// Simulates a step in the planned phase, the IR that is executed: block order
// is the order of issue, weft_rt.start posts a collective on its channel,
// weft_rt.wait stands still until it is done. docs/simulator.md says what is
// and what is not part of the model.

#ifndef WEFT_SIMULATE_SIMULATE_H
#define WEFT_SIMULATE_SIMULATE_H

#include "weft/Cost/CostModel.h"
#include "weft/Simulate/Durations.h"
#include "weft/Support/Timeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace mlir::weft {

struct SimulateOptions {
  /// The rank whose timeline is wanted; -1: the one that is done last.
  int64_t rank = -1;
  /// Factors on the compute of some ranks.
  std::map<int64_t, double> slowRanks;
  /// Each op takes up to this part less or more, 0.05 for 5 %.
  double jitter = 0;
  uint64_t seed = 0;
  /// Durations of a run: of each step, where it had as many ranks, and then
  /// what is wanted is the mean over its steps; else the means. Null: none.
  const MeasuredDurations *measured = nullptr;
};

/// A step on all ranks.
struct Simulation {
  Timeline timeline;
  /// When the last rank is done, and which that is; when the first and the
  /// middle one are.
  int64_t stepNs = 0, slowestRank = 0;
  int64_t fastestNs = 0, medianNs = 0;
  int64_t numRanks = 1;
  /// Ranks that were simulated; the others do the same as one of them.
  int64_t numClasses = 1;
  /// Steps of a run whose durations were taken one by one; times are their
  /// mean, and the timeline is that of the step nearest to it.
  int64_t numMeasuredSteps = 0;
};

/// Simulates `function`, which is in the planned phase.
Simulation simulate(func::FuncOp function, const CostModel &cost,
                    const SimulateOptions &options = {});

/// The bound, or the step's time where the bound is above it by no more than
/// rounding: the scheduler and the simulator stretch what runs beside
/// collectives in different pieces, each to whole nanoseconds.
int64_t dropRounding(int64_t boundNs, int64_t stepNs);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_SIMULATE_H
