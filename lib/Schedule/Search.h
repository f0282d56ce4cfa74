// SPDX-License-Identifier: Apache-2.0

// The search for the best schedule under one memory limit.

#ifndef WEFT_LIB_SCHEDULE_SEARCH_H
#define WEFT_LIB_SCHEDULE_SEARCH_H

#include "ListScheduler.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace mlir::weft {

/// The computations that take longer than any collective that others wait for,
/// and lead to none: no such wait is long enough for them.
std::vector<bool> findLong(const ScheduleProblem &problem);

/// Collects schedules of a problem and takes the best. Program order must be
/// within the limit (0: none).
class ScheduleSearch {
public:
  ScheduleSearch(const ScheduleProblem &problem, int64_t limit, int64_t bound)
      : problem(problem),
        // Nothing is to be counted where all of it fits.
        limit(limit < problem.getMostBytes() ? limit : 0), bound(bound) {}

  /// Collectives as soon as they can, computation in program order.
  void runGreedy();

  /// The simple policies, and lists by their rules.
  void runRules();

  /// All of these, and what comes of them. Ends early at the bound.
  void runBest();

  /// The one that needs least memory among the fastest.
  ScheduleResult take();

private:
  void consider(std::vector<ScheduleEvent> events);
  void considerList(const ListOptions &options);
  ListOptions getOptions(std::vector<int64_t> keys) const;
  std::vector<int64_t> getProgramOrder() const;
  std::vector<int64_t> getTails() const;
  int64_t getLayerTime() const;
  std::vector<ListOptions> getFeedingStyles(ListOptions style) const;
  std::vector<int64_t> putOffLong(std::vector<int64_t> keys) const;
  std::vector<size_t> improveFeeding();
  std::optional<size_t>
  improveFeeding(const std::vector<std::vector<int64_t>> &someKeys,
                 const std::vector<ListOptions> &styles);
  std::vector<int64_t> getHeads() const;
  void findFreeing();
  void improve(size_t from);
  size_t improveFrom(size_t best);
  std::vector<size_t> improveOtherStarts();
  bool isDone() const;
  bool isWorthMore() const;
  size_t getMaxOrders() const;

  const ScheduleProblem &problem;
  int64_t limit;
  int64_t bound;
  /// What was found, program order first, and which of it is fastest.
  std::vector<ScheduleResult> found;
  size_t fastest = 0;
  /// Keys and limit aside, the options of lists.
  ListOptions style;
  /// The result takes no longer than this.
  int64_t mostTime = std::numeric_limits<int64_t>::max();
  /// Computations that are done at once after others.
  std::vector<std::pair<int, int>> freeing;
  /// When tasks begin in program order.
  std::vector<int64_t> programBegins;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_SEARCH_H
