// SPDX-License-Identifier: Apache-2.0

// Problems for the scheduler's tests: steps with the shape of a training step
// of a transformer, and random ones.

#ifndef WEFT_TEST_UNIT_SCHEDULEEXAMPLES_H
#define WEFT_TEST_UNIT_SCHEDULEEXAMPLES_H

#include "weft/Schedule/Problem.h"

#include <cstdint>

namespace mlir::weft::test {

/// A computation of `duration` ns.
ScheduleTask compute(int64_t duration);

/// A collective of `duration` ns.
ScheduleTask collective(int64_t duration, int channel, int link = -1,
                        TaskRole role = TaskRole::Gather);

/// Sizes of a step; durations in ns, bytes of one tensor.
struct StepShape {
  int layers = 4;
  /// Weights per layer, each with a matmul in the forward pass, and two in the
  /// backward pass.
  int weights = 4;
  int64_t matmul = 1000;
  int64_t gather = 400;
  int64_t reduce = 800;
  /// A sum over tensor-parallel ranks in the middle and at the end of a layer;
  /// 0: none.
  int64_t activation = 0;
  int64_t update = 100;
  int64_t weightBytes = 1000;
  int64_t activationBytes = 500;
  /// Whether all collectives share one link.
  bool sharesLink = false;
};

/// A step: forward pass, backward pass with its own gathers, a reduction per
/// gradient and the update of its weight.
ScheduleProblem makeStep(const StepShape &shape);

/// Sizes of a step with experts; durations in ns.
struct ExpertShape {
  int layers;
  int64_t gradient, cast, matmul, expert, exchange, gather, reduce, head;
};

/// A step whose layers are two matmuls and two of an expert, with an exchange
/// in front of those and one after them, and its backward pass, in which other
/// exchanges take part that only a gradient needs. All share one link.
ScheduleProblem makeExpertStep(const ExpertShape &shape);

/// A random problem of `size` tasks.
ScheduleProblem makeRandomProblem(uint64_t seed, int size);

/// A random problem of `size` tasks, most of which depend on each other in a
/// row, as computations and the exchanges between experts do. The others are
/// beside parts of it: gathers, reductions, and computations of all lengths.
ScheduleProblem makeRandomChain(uint64_t seed, int size);

/// A chain of computations and sums on one link, which other collectives take
/// up for longer than the computations between two sums last.
ScheduleProblem makeRandomDelays(uint64_t seed, int size);

/// A chain of computations at whose end a long reduction stands, and an update;
/// beside it gradients, each with a reduction on the same link, sometimes
/// another one, and an update. With time turned round, gathers in front of it.
ScheduleProblem makeRandomEnd(uint64_t seed, int size);

/// A random problem of `size` tasks, most of which are two chains of
/// computations and sums on one link, as of two microbatches; gathers that both
/// need, and computations that come before, after or beside all of it.
ScheduleProblem makeRandomTwins(uint64_t seed, int size);

/// A chain of up to four computations in two passes, with gathers and
/// reductions beside it and exchanges in it. The second pass reads what the
/// first made, and may write where it reads.
ScheduleProblem makeRandomLayers(uint64_t seed);

} // namespace mlir::weft::test

#endif // WEFT_TEST_UNIT_SCHEDULEEXAMPLES_H
