// SPDX-License-Identifier: Apache-2.0

// When everything happens if tasks are done in some order, where memory is no
// limit. Of an order that differs in some places from the one before, no more
// is looked at than what happens at other times.

#ifndef WEFT_LIB_SCHEDULE_ORDERTIMES_H
#define WEFT_LIB_SCHEDULE_ORDERTIMES_H

#include "weft/Schedule/Problem.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::weft {

/// An order of all tasks and its times, those of `replay` where collectives
/// are started in their places and waited for where they are needed.
class OrderTimes {
public:
  /// What must come after the end of each task takes as long as `tails` say, or
  /// longer.
  OrderTimes(const ScheduleProblem &problem, const std::vector<int64_t> &tails);

  /// Takes `order`, whatever it costs.
  void reset(std::vector<int> order);
  /// Takes `order` if all is done after `most` ns; says whether it is.
  bool tryOrder(const std::vector<int> &order, int64_t most);

  const std::vector<int> &getOrder() const { return order; }
  /// When all is done.
  int64_t getTime() const { return time; }
  int64_t getBegin(int task) const {
    return ends[task] - problem.task(task).duration;
  }
  int64_t getEnd(int task) const { return ends[task]; }
  /// When the compute stream comes to a place of the order, and when each
  /// resource is free then.
  int64_t getNow(int place) const { return nows[place]; }
  int64_t getFree(int place, int resource) const {
    return frees[place * numResources + resource];
  }
  /// The collectives that are waited for, and the places in front of which that
  /// is.
  std::vector<std::pair<int, int>> listWaits() const;

private:
  bool isAsBefore(int place) const;
  bool step(int task, int64_t most);
  int64_t getLast() const;

  const ScheduleProblem &problem;
  const std::vector<int64_t> &tails;
  int numResources;
  std::vector<int> order;
  std::vector<int64_t> ends;
  int64_t time = 0;
  /// In front of each place, and of the end: when the compute stream comes
  /// there, and by resource when it is free.
  std::vector<int64_t> nows, frees;
  /// Of the order that is looked at: the same where it has come to, in front of
  /// each place from the first that differs, and what ends were before.
  int64_t now = 0;
  std::vector<int64_t> free, newNows, newFrees, oldEnds;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_ORDERTIMES_H
