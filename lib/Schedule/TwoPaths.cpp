// SPDX-License-Identifier: Apache-2.0

// How long the compute stream must stand still since two paths advance on links
// that they share.
//
// Two microbatches, say, need the same gathered weights, and each has sums of
// its own between its layers. Either alone could be far after some time, so
// that no bound by one path sees that both cannot be: their collectives are
// done one after the other.
//
// Let a(1) -> a(2) -> ... and b(1) -> b(2) -> ... be tasks of a path each. A
// schedule passes through states (i, j): a(1) to a(i) and b(1) to b(j) are
// passed, and what follows them is not. A collective is passed when it is done,
// a computation when it begins. It begins at (0, 0), ends at (n, m), and each
// step adds one. Consider the step to (i, j) from state s, and its moment t.
//
// - What a(i) and b(j) depend on is done by t, and so are they, if they are
//   collectives. So t is at least L(i, j): on each link the sum of these
//   collectives after the least of their heads, and the moments in which a(i)
//   and b(j) can be passed by their own heads.
// - Nothing that depends on a task of the paths beyond s has begun, nor has
//   such a task, if it is a computation. So what was computed by t takes at
//   most W(s): all else there is.
//
// Computations count since gathers can be done in any order, and are on no path
// after each other: only where they are needed does it show that all of those
// before had to be done as well.
//
// The compute stream therefore stood still for at least L(i, j) - W(s) before
// L(i, j), or not at all. A schedule chooses its way from (0, 0) to (n, m); the
// way whose largest such time is least is a bound for all of them.
//
// With time turned round the same holds for the end of a step. What stands
// still in its first half and in its second half adds up.

#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <limits>

using namespace mlir::weft;

namespace {

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();

/// The paths have so many tasks at most: any of a path are a path too.
constexpr size_t kMaxPlaces = 300;

/// Tasks that depend on each other in this order: collectives, and computations
/// that need a collective which those in front do not.
struct Chain {
  Chain(const TaskGraph &graph, const std::vector<int> &path);

  int size() const { return static_cast<int>(tasks.size()); }

  std::vector<int> tasks;
  /// How many of them have to be passed before each task is begun, itself
  /// included if it is a computation, and the number, from 1, of the first that
  /// is it or depends on it; size() + 1: none.
  std::vector<int> numBefore, firstAfter;
};

/// The computations of `path` that need a collective which is neither on it nor
/// needed by those in front.
std::vector<int> findMeetings(const TaskGraph &graph,
                              const std::vector<int> &path) {
  std::vector<bool> isSeen(graph.size(), false);
  std::vector<int> meetings;
  for (int task : path) {
    bool bringsNew = false;
    std::vector<int> stack{task};
    isSeen[task] = true;
    while (!stack.empty()) {
      int next = stack.back();
      stack.pop_back();
      for (int before : graph.before[next])
        if (!isSeen[before]) {
          isSeen[before] = true;
          bringsNew |=
              graph.resources[before] != 0 && graph.durations[before] > 0;
          stack.push_back(before);
        }
    }
    if (bringsNew && graph.resources[task] == 0 && graph.durations[task] > 0)
      meetings.push_back(task);
  }
  return meetings;
}

Chain::Chain(const TaskGraph &graph, const std::vector<int> &path)
    : numBefore(graph.size(), 0) {
  std::vector<int> all;
  for (int task : path)
    if (graph.resources[task] != 0 && graph.durations[task] > 0)
      all.push_back(task);
  // Long paths have enough of collectives.
  std::vector<int> meetings = findMeetings(graph, path);
  if (all.size() + meetings.size() <= kMaxPlaces) {
    all.insert(all.end(), meetings.begin(), meetings.end());
    std::sort(all.begin(), all.end());
  }
  size_t stride = all.size() / kMaxPlaces + 1;
  for (size_t i = 0; i < all.size(); i += stride)
    tasks.push_back(all[i]);
  firstAfter.assign(graph.size(), size() + 1);
  std::vector<int> number(graph.size(), 0);
  for (int i = 0; i < size(); ++i)
    firstAfter[tasks[i]] = number[tasks[i]] = i + 1;
  for (int i = 0; i < graph.size(); ++i) {
    for (int before : graph.before[i])
      numBefore[i] =
          std::max({numBefore[i], numBefore[before], number[before]});
    if (graph.resources[i] == 0)
      numBefore[i] = std::max(numBefore[i], number[i]);
  }
  for (int i = graph.size() - 1; i >= 0; --i)
    for (int after : graph.after[i])
      firstAfter[i] = std::min(firstAfter[i], firstAfter[after]);
}

/// A number for each state, or for each pair of places.
class Grid {
public:
  Grid(int rows, int columns, int64_t value)
      : columns(columns), values(size_t(rows) * columns, value) {}

  int64_t &at(int i, int j) { return values[size_t(i) * columns + j]; }

  /// Makes each number the sum of all in no later row and column.
  void accumulate() {
    int rows = static_cast<int>(values.size()) / columns;
    for (int i = 0; i < rows; ++i)
      for (int j = 1; j < columns; ++j)
        at(i, j) += at(i, j - 1);
    for (int i = 1; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        at(i, j) += at(i - 1, j);
  }

private:
  int columns;
  std::vector<int64_t> values;
};

/// Two paths that advance from the beginning of a step.
class TwoPaths {
public:
  TwoPaths(const TaskGraph &graph, const std::vector<int64_t> &heads);

  /// How long the compute stream stands still at least in the first `most` ns.
  int64_t getIdle(int64_t most);

private:
  void addLink(int link);

  const TaskGraph &graph;
  const std::vector<int64_t> &heads;
  Chain a, b;
  /// L and W of each state.
  Grid earliest, work;
};

/// What takes longest of what is not on `path`.
std::vector<int> findOtherPath(const TaskGraph &graph,
                               const std::vector<int> &path) {
  TaskGraph other = graph;
  for (int task : path)
    other.durations[task] = 0;
  return findLongestPath(other);
}

TwoPaths::TwoPaths(const TaskGraph &graph, const std::vector<int64_t> &heads)
    : graph(graph), heads(heads), a(graph, findLongestPath(graph)),
      b(graph, findOtherPath(graph, findLongestPath(graph))),
      earliest(a.size() + 1, b.size() + 1, 0),
      work(a.size() + 1, b.size() + 1, 0) {
  for (int i = 0; i < graph.size(); ++i)
    if (graph.resources[i] == 0)
      work.at(a.numBefore[i], b.numBefore[i]) += graph.durations[i];
  work.accumulate();
  for (int link = 1; link < graph.numResources; ++link)
    addLink(link);
  auto getPassed = [&](int task) {
    bool isCollective = graph.resources[task] != 0;
    return heads[task] + (isCollective ? graph.durations[task] : 0);
  };
  for (int i = 0; i <= a.size(); ++i)
    for (int j = 0; j <= b.size(); ++j) {
      int64_t &time = earliest.at(i, j);
      time = std::max({time, i > 0 ? getPassed(a.tasks[i - 1]) : 0,
                       j > 0 ? getPassed(b.tasks[j - 1]) : 0});
    }
}

/// What a(i) or b(j) depends on, of one link.
void TwoPaths::addLink(int link) {
  int lastA = a.size() + 1, lastB = b.size() + 1;
  Grid sum(lastA + 1, lastB + 1, 0);
  int64_t head = kInfinite;
  for (int i = 0; i < graph.size(); ++i) {
    bool isNeeded = a.firstAfter[i] < lastA || b.firstAfter[i] < lastB;
    if (graph.resources[i] != link || graph.durations[i] == 0 || !isNeeded)
      continue;
    sum.at(a.firstAfter[i], b.firstAfter[i]) += graph.durations[i];
    head = std::min(head, heads[i]);
  }
  sum.accumulate();
  for (int i = 0; i < lastA; ++i)
    for (int j = 0; j < lastB; ++j) {
      int64_t needed = sum.at(i, lastB) + sum.at(lastA, j) - sum.at(i, j);
      if (needed > 0)
        earliest.at(i, j) = std::max(earliest.at(i, j), head + needed);
    }
}

int64_t TwoPaths::getIdle(int64_t most) {
  Grid idle(a.size() + 1, b.size() + 1, kInfinite);
  idle.at(0, 0) = 0;
  for (int i = 0; i <= a.size(); ++i)
    for (int j = 0; j <= b.size(); ++j) {
      int64_t time = std::min(earliest.at(i, j), most), &least = idle.at(i, j);
      auto comeFrom = [&](int fromI, int fromJ) {
        least = std::min(least, std::max(idle.at(fromI, fromJ),
                                         time - work.at(fromI, fromJ)));
      };
      if (i > 0)
        comeFrom(i - 1, j);
      if (j > 0)
        comeFrom(i, j - 1);
    }
  return idle.at(a.size(), b.size());
}

} // namespace

int64_t mlir::weft::computeIdleOfTwoPaths(const TaskGraph &graph,
                                          const TaskGraph &reversed,
                                          const std::vector<int64_t> &heads,
                                          const std::vector<int64_t> &tails,
                                          int64_t bound) {
  TwoPaths opening(graph, heads), closing(reversed, tails);
  return std::max({opening.getIdle(kInfinite), closing.getIdle(kInfinite),
                   opening.getIdle(bound / 2) + closing.getIdle(bound / 2)});
}
