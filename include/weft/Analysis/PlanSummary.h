// SPDX-License-Identifier: Apache-2.0

// What a planned function says about memory: which block is where, how long it
// is in use, and whose bytes the peak are. Taken from the program alone, not
// from what the planner thought.
//
// Time is the position of ops in program order; kernels are one op, a loop has
// a position for its begin and one for its end. A block is in use from the
// first op that touches it to the last; the buffers of a collective until it is
// waited for.
//
// Worked example.
//   %0 = weft_rt.buffer argument 0 "w" : memref<4xf32>
//   %1 = weft_rt.buffer arena 0 "h" : memref<4xf32>
//   %2 = weft_rt.buffer result 0 "y" : memref<4xf32>
//   weft_rt.fused ins(%0) outs(%1)     // position 4, with 0 for the function
//   weft_rt.fused ins(%1) outs(%2)     // position 5
// "h" is in use from 4 to 5. The rank needs 64 bytes each for the argument, the
// result and the arena.

#ifndef WEFT_ANALYSIS_PLANSUMMARY_H
#define WEFT_ANALYSIS_PLANSUMMARY_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// A block of memory.
struct PlannedRoot {
  /// The op that stands for it.
  Operation *buffer = nullptr;
  std::string name;
  rt::Space space = rt::Space::Arena;
  /// The index of the argument or result, or the byte offset in the arena.
  int64_t position = 0;
  int64_t bytes = 0;
  /// Positions of the first and the last op that touch it. Those of arguments
  /// and results are the function's.
  int64_t begin = 0, end = 0;
};

/// What a rank needs. Each block counts rounded up to 64 bytes.
struct PlanSummary {
  /// In program order.
  std::vector<PlannedRoot> roots;
  int64_t argumentBytes = 0;
  /// Of results that are no donated arguments.
  int64_t resultBytes = 0;
  int64_t arenaBytes = 0;
  /// In the host's memory: of its arena, and of arguments there.
  int64_t hostBytes = 0;
  /// The most bytes of the arena that are in use at one time, and when that is
  /// for the first time.
  int64_t peakBytes = 0, peakPosition = 0;
  /// The op at that time.
  Operation *peakOp = nullptr;
  /// Indices of the roots of the arena that are in use then, largest first.
  std::vector<unsigned> peakOwners;
  /// Positions of ops outside of kernels.
  llvm::DenseMap<Operation *, int64_t> positions;

  int64_t getTotalBytes() const {
    return argumentBytes + resultBytes + arenaBytes;
  }
};

/// Summarizes a function of the planned phase.
PlanSummary summarizePlan(func::FuncOp planned);

/// Prints what a rank needs, and the `count` largest blocks at the peak.
void printPlan(const PlanSummary &plan, unsigned count, raw_ostream &os);

/// Fails with an error that names the largest blocks at the peak if a rank
/// needs more than `limit` bytes.
LogicalResult checkMemoryLimit(func::FuncOp planned, int64_t limit);

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_PLANSUMMARY_H
