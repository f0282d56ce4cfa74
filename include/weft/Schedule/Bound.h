// SPDX-License-Identifier: Apache-2.0

// How fast a schedule could be at best, whatever its order, if memory were no
// limit. docs/schedule.md derives the formulas.

#ifndef WEFT_SCHEDULE_BOUND_H
#define WEFT_SCHEDULE_BOUND_H

#include "weft/Schedule/Problem.h"

#include <algorithm>

namespace mlir::weft {

/// Pairs of tasks of which the first is done before the second begins.
using Precedences = std::vector<std::pair<int, int>>;

/// The resource that computes; the others are links.
constexpr int kComputeStream = 0;

/// Tasks with what comes directly before and after each; either as they are, or
/// with time turned round.
struct TaskGraph {
  explicit TaskGraph(const ScheduleProblem &problem);
  /// The graph in which task i is task n - 1 - i of this one.
  TaskGraph reversed() const;
  /// The graph in which `precedences` hold as well. Task i of it is task
  /// `order[i]` of this one, as orderTasks has them.
  TaskGraph ordered(const std::vector<int> &order,
                    const Precedences &precedences) const;
  /// The graph of some tasks, in ascending order, by their places in this list.
  TaskGraph induced(const std::vector<int> &tasks) const;

  int size() const { return static_cast<int>(durations.size()); }
  /// Says whether `second` comes after `first` only in that their link does it
  /// later: it may be started before `first` is waited for.
  bool isLinkOrder(int first, int second) const {
    return std::binary_search(linkOrders.begin(), linkOrders.end(),
                              std::make_pair(first, second));
  }

  std::vector<int64_t> durations;
  std::vector<int> resources;
  int numResources;
  Adjacency before, after;

private:
  TaskGraph() = default;

  /// Ascending.
  Precedences linkOrders;
};

/// The tasks in an order in which `precedences` hold too, and that of their
/// numbers where nothing is against it.
std::vector<int> orderTasks(const TaskGraph &graph,
                            const Precedences &precedences);

/// For each task a time before which it cannot begin. Along a path durations
/// add up; in front of collectives the work of all that they depend on counts,
/// since one resource does one thing at a time.
std::vector<int64_t> computeHeads(const TaskGraph &graph);

/// The longest of Jackson's preemptive schedules of all resources. `tails` are
/// the heads with time turned round.
int64_t getPreemptiveLength(const TaskGraph &graph,
                            const std::vector<int64_t> &heads,
                            const std::vector<int64_t> &tails);

/// Tasks that depend on each other in this order and take longest.
std::vector<int> findLongestPath(const TaskGraph &graph);

/// The work of a resource and how long it must stand still beside the longest
/// path, of the resource for which that is most.
int64_t computeWorkAndWaits(const TaskGraph &graph);

/// How long the step takes at least if it is cut at tasks of the longest path,
/// and what lies between two of them takes as long as its own work and waits.
int64_t computeLengthOfParts(const TaskGraph &graph,
                             const std::vector<int64_t> &heads);

/// The work of the compute stream and how long it must stand still beside
/// collectives, since what it could compute then has to be sent after them.
/// `tails` are the heads with time turned round.
int64_t computeWorkAndEnds(const TaskGraph &graph,
                           const std::vector<int64_t> &heads,
                           const std::vector<int64_t> &tails);

/// How long the parts of the longest path take with all that is done beside
/// them, if each resource counts for a share of each part. Shares are looked
/// for that say most, until the bound is `enough`, the time of a schedule, say:
/// steps towards them are as long as what is missing. Zero for very large
/// or very long problems.
int64_t computeWeightedPath(const TaskGraph &graph, int64_t enough);

/// computeWorkAndWaits of the compute stream if no more than `limit` bytes are
/// alive at any time, as the problem counts them.
int64_t computeWorkAndWaitsWithin(const ScheduleProblem &problem,
                                  int64_t limit);

/// computeLengthOfParts if no more than `limit` bytes are alive at any time.
int64_t computeLengthOfPartsWithin(const ScheduleProblem &problem,
                                   int64_t limit);

/// What is done before what in each schedule within the limit, as one of the
/// two has no memory beside the other otherwise.
Precedences findOrderWithin(const ScheduleProblem &problem, int64_t limit);

/// How long the compute stream must stand still since two paths advance on the
/// links that they share. `reversed` is `graph` with time turned round, `tails`
/// are its heads, and no schedule is faster than `bound`.
int64_t computeIdleOfTwoPaths(const TaskGraph &graph, const TaskGraph &reversed,
                              const std::vector<int64_t> &heads,
                              const std::vector<int64_t> &tails, int64_t bound);

/// Six bounds on the time of any schedule, in nanoseconds.
struct ScheduleBound {
  /// All work of the compute stream.
  int64_t compute = 0;
  /// All work of the busiest link.
  int64_t link = 0;
  /// The longest path, where what is on it waits for nothing else.
  int64_t path = 0;
  /// Jackson's preemptive schedule of each resource with heads and tails,
  /// whichever of two collectives is the first.
  int64_t headsAndTails = 0;
  /// The work of one resource and its waits beside the longest path.
  int64_t workAndWaits = 0;
  /// The work of the compute stream and its waits beside two paths.
  int64_t twoPaths = 0;

  int64_t get() const {
    return std::max(
        {compute, link, path, headsAndTails, workAndWaits, twoPaths});
  }
};

ScheduleBound computeLowerBound(const TaskGraph &graph);

inline ScheduleBound computeLowerBound(const ScheduleProblem &problem) {
  return computeLowerBound(TaskGraph(problem));
}

/// Raises what heads and tails say: of two collectives of one link either is
/// the first, and what both orders need at least is a bound. As many such pairs
/// are looked at as put `effort` tasks in order, and none once the bound is
/// `enough`.
void raiseByEitherOrder(const ScheduleProblem &problem, int64_t enough,
                        int64_t effort, ScheduleBound &bound);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_BOUND_H
