// SPDX-License-Identifier: Apache-2.0

// What heads and tails say when the order of two collectives is chosen.
//
// A link does one thing at a time: of two of its collectives, neither of which
// depends on the other, one is done before the other begins. So every schedule
// is one of the problem in which x comes before y, or of the one in which y
// comes before x, and the lesser of the bounds of these two is a bound.
//
// At the end of a step, say, the gradients of weights are reduced, and those of
// norms. Jackson's schedule does what needs the latter while the former are
// reduced, and also what the latter need: each is allowed, but not both.

#include "weft/Schedule/Bound.h"

#include <algorithm>

using namespace mlir::weft;

namespace {

/// Two collectives, and by how much either order raises a head or a tail at
/// least.
struct Pair {
  int64_t raise;
  int first, second;
};

class EitherOrder {
public:
  explicit EitherOrder(const ScheduleProblem &problem)
      : graph(problem), heads(computeHeads(graph)),
        tails(computeHeads(graph.reversed())) {}

  std::vector<Pair> findPairs() const;
  int64_t getLength(int first, int second) const;

private:
  int64_t getRaise(int first, int second) const;

  TaskGraph graph;
  std::vector<int64_t> heads, tails;
};

/// By how much the head of `second` or the tail of `first` is raised if it
/// comes before it. If it depends on it, by nothing.
int64_t EitherOrder::getRaise(int first, int second) const {
  int last = graph.size() - 1;
  return std::max(heads[first] + graph.durations[first] - heads[second],
                  tails[last - second] + graph.durations[second] -
                      tails[last - first]);
}

/// Those for which either order changes something, what changes most first.
std::vector<Pair> EitherOrder::findPairs() const {
  std::vector<Pair> pairs;
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.resources[i] == 0 || graph.durations[i] == 0)
      continue;
    for (int j = i + 1; j < graph.size(); ++j) {
      if (graph.resources[j] != graph.resources[i] || graph.durations[j] == 0)
        continue;
      int64_t raise = std::min(getRaise(i, j), getRaise(j, i));
      if (raise > 0)
        pairs.push_back({raise, i, j});
    }
  }
  std::stable_sort(
      pairs.begin(), pairs.end(),
      [](const Pair &a, const Pair &b) { return a.raise > b.raise; });
  return pairs;
}

int64_t EitherOrder::getLength(int first, int second) const {
  Precedences pair{{first, second}};
  TaskGraph chosen = graph.ordered(orderTasks(graph, pair), pair);
  return getPreemptiveLength(chosen, computeHeads(chosen),
                             computeHeads(chosen.reversed()));
}

} // namespace

void mlir::weft::raiseByEitherOrder(const ScheduleProblem &problem,
                                    int64_t enough, int64_t effort,
                                    ScheduleBound &bound) {
  EitherOrder orders(problem);
  for (const Pair &pair : orders.findPairs()) {
    if (effort <= 0 || bound.get() >= enough)
      return;
    int64_t length = orders.getLength(pair.first, pair.second);
    effort -= problem.size();
    // The other order can only make the lesser of both less.
    if (length <= bound.get())
      continue;
    length = std::min(length, orders.getLength(pair.second, pair.first));
    effort -= problem.size();
    bound.headsAndTails = std::max(bound.headsAndTails, length);
  }
}
