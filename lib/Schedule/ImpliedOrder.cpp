// SPDX-License-Identifier: Apache-2.0

// Let all be done before `end`. Task i cannot begin before its head r(i), and
// is done by end - q(i), where q(i) is its tail. Of two tasks x and y of one
// resource one is done before the other begins. If r(x) + p(x) + p(y) + q(y) is
// no less than `end`, that is not x: y comes first (J. Carlier, E. Pinson, "An
// algorithm for solving the job-shop problem", Management Science 35, 1989).
// With these as dependences heads and tails are greater, which may say more,
// and so do all other bounds: whoever takes less than `end` keeps to them.
// Where two tasks must both be first, or the dependences have a cycle, nobody
// does.

#include "ImpliedOrder.h"

#include <algorithm>

using namespace mlir::weft;

namespace {

/// For each task a bit for each that depends on it, and its own.
class Followers {
public:
  explicit Followers(const TaskGraph &graph)
      : words((graph.size() + 63) / 64), bits(words * graph.size(), 0) {
    for (int i = graph.size(); i-- > 0;) {
      bits[i * words + i / 64] |= uint64_t(1) << (i % 64);
      for (int next : graph.after[i])
        for (size_t word = next / 64; word < words; ++word)
          bits[i * words + word] |= bits[next * words + word];
    }
  }

  bool has(int task, int follower) const {
    return bits[task * words + follower / 64] >> (follower % 64) & 1;
  }

private:
  size_t words;
  std::vector<uint64_t> bits;
};

/// One round: what the heads and tails of `graph` say.
class TimeWindows {
public:
  TimeWindows(const TaskGraph &graph, int64_t end)
      : graph(graph), end(end), heads(computeHeads(graph)),
        tails(computeHeads(graph.reversed())) {
    std::reverse(tails.begin(), tails.end());
  }

  /// Says whether a schedule could be done in time.
  bool findPairs(Precedences &pairs) const;

private:
  bool mayBeFirst(int x, int y) const {
    return heads[x] + graph.durations[x] + graph.durations[y] + tails[y] < end;
  }

  const TaskGraph &graph;
  int64_t end;
  std::vector<int64_t> heads, tails;
};

bool TimeWindows::findPairs(Precedences &pairs) const {
  Followers followers(graph);
  std::vector<std::vector<int>> byResource(graph.numResources);
  for (int i = 0; i < graph.size(); ++i) {
    if (heads[i] + graph.durations[i] + tails[i] >= end)
      return false;
    if (graph.durations[i] > 0)
      byResource[graph.resources[i]].push_back(i);
  }
  for (const std::vector<int> &tasks : byResource)
    for (size_t k = 0; k < tasks.size(); ++k)
      for (size_t m = k + 1; m < tasks.size(); ++m) {
        int x = tasks[k], y = tasks[m];
        bool isXFirst = mayBeFirst(x, y), isYFirst = mayBeFirst(y, x);
        if ((isXFirst && isYFirst) || followers.has(x, y))
          continue;
        if (!isXFirst && !isYFirst)
          return false;
        pairs.emplace_back(isXFirst ? x : y, isXFirst ? y : x);
      }
  return true;
}

/// Without those of `pairs` that others lead to, in a graph that has them all.
Precedences dropImplied(const TaskGraph &graph, const Precedences &pairs) {
  Followers followers(graph);
  Precedences kept;
  for (auto [from, to] : pairs) {
    bool isImplied = false;
    for (int next : graph.after[from])
      isImplied = isImplied || (next != to && followers.has(next, to));
    if (!isImplied)
      kept.emplace_back(from, to);
  }
  return kept;
}

} // namespace

std::optional<Precedences>
mlir::weft::findImpliedOrder(const TaskGraph &graph,
                             const Precedences &precedences, int64_t end) {
  constexpr int kMaxRounds = 8;
  Precedences all = precedences;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::vector<int> order = orderTasks(graph, all);
    TaskGraph now = graph.ordered(order, all);
    Precedences pairs;
    if (!TimeWindows(now, end).findPairs(pairs))
      return std::nullopt;
    if (pairs.empty())
      break;
    std::vector<int> next = orderTasks(now, pairs), place(now.size());
    if (next.size() != place.size())
      return std::nullopt;
    for (int i = 0; i < now.size(); ++i)
      place[next[i]] = i;
    TaskGraph then = now.ordered(next, pairs);
    for (auto &[from, to] : pairs) {
      from = place[from];
      to = place[to];
    }
    for (auto [from, to] : dropImplied(then, pairs))
      all.emplace_back(order[next[from]], order[next[to]]);
  }
  return all;
}

int64_t mlir::weft::getBoundBelow(const TaskGraph &graph,
                                  Precedences &precedences, int64_t end) {
  std::optional<Precedences> all = findImpliedOrder(graph, precedences, end);
  if (!all)
    return end;
  precedences = std::move(*all);
  TaskGraph ordered =
      graph.ordered(orderTasks(graph, precedences), precedences);
  int64_t bound = computeWeightedPath(ordered, end);
  if (bound < end)
    bound = std::max(bound, computeLowerBound(ordered).get());
  return std::min(end, bound);
}
