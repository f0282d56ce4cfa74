// SPDX-License-Identifier: Apache-2.0

// A move of one task mostly leaves a gap that all that follows could fill.

#ifndef WEFT_LIB_SCHEDULE_GAPCLOSER_H
#define WEFT_LIB_SCHEDULE_GAPCLOSER_H

#include "OrderTimes.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::weft {

class GapCloser {
public:
  /// `times` are those of the order that is being changed. What must come after
  /// the end of each task takes as long as `tails` say, or longer.
  GapCloser(const ScheduleProblem &problem, const OrderTimes &times,
            const std::vector<int64_t> &tails)
      : problem(problem), times(times), tails(tails) {}

  /// The order in which everything happens if, from the first place on where
  /// `order` is another than that of the times, the compute stream does not
  /// wait for what is next in it while something later can be computed, and
  /// links keep to it. Memory is no limit. If that takes more than `most` ns:
  /// the order of the times, in which each task stands at `place`.
  std::vector<int> close(std::vector<int> order, const std::vector<int> &place,
                         int64_t most);

private:
  void begin(const std::vector<int> &order, int from,
             const std::vector<int> &place);
  void finish(int task);
  void finishWhatIsDone();
  void startCollectives();

  const ScheduleProblem &problem;
  const OrderTimes &times;
  const std::vector<int64_t> &tails;
  /// Where the compute stream has come to, and when each resource is free.
  int64_t now = 0;
  std::vector<int64_t> freeAt;
  /// For each task how much of what it depends on is not done yet, and where it
  /// stands in the order.
  std::vector<int> numBefore, at;
  /// The collectives of each resource in their order, and how many of them were
  /// started.
  std::vector<std::vector<int>> links;
  std::vector<size_t> numStarted;
  /// Heaps: the places of what can be computed, and what is under way, by its
  /// end.
  std::vector<int> ready;
  std::vector<std::pair<int64_t, int>> inFlight;
  /// What comes of it, from the first place on that differs.
  std::vector<int> result;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_GAPCLOSER_H
