// SPDX-License-Identifier: Apache-2.0

// What keeps the busiest link busy. Where a link has more to do than the
// compute stream, what counts is that it never stands still: of all that can be
// computed, that is first what lets it go on soonest.

#ifndef WEFT_LIB_SCHEDULE_LINKFEED_H
#define WEFT_LIB_SCHEDULE_LINKFEED_H

#include "weft/Schedule/Problem.h"

#include <cstddef>
#include <queue>
#include <vector>

namespace mlir::weft {

/// Follows a list scheduler's walk through a problem that has a link.
class LinkFeed {
public:
  LinkFeed(const ScheduleProblem &problem, const std::vector<int64_t> &keys);

  /// `task` could be issued from now on, or is.
  void makeReady(int task);
  void issue(int task);

  /// The resource of the link.
  int getLink() const { return link; }

  /// Says whether the link has more left to do than the compute stream.
  bool isBinding() const { return left[link] > left[kComputeStream]; }

  /// Nanoseconds of what the link could do next, not counting what it does.
  int64_t getQueued() const { return queued; }

  /// What could be computed now and leads to something for the link before
  /// `task` does; -1: nothing.
  int findSooner(int task);

  /// The lowest key of all that is left: how far the schedule has come.
  int64_t getLowestKey();

private:
  static constexpr int kComputeStream = 0;

  const ScheduleProblem &problem;
  const std::vector<int64_t> &keys;
  int link = 1;
  /// Nanoseconds that each resource has left.
  std::vector<int64_t> left;
  int64_t queued = 0;
  /// How long it takes until the link has something to do if only a task and
  /// what follows from it are done.
  std::vector<int64_t> feedTimes;
  using Entry = std::pair<int64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> feeders;
  std::vector<bool> isIssued;
  /// Tasks in the order of their keys. All before this place were issued.
  std::vector<int> byKey;
  size_t firstByKey = 0;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_LINKFEED_H
