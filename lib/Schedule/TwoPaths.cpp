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
// - Of that, what needs a collective q that neither a(i) nor b(j) depend on is
//   computed by t only if q is done by then as well, and its link is occupied
//   for so much longer. Each computation is counted at one such q at most. So
//   either q is not done, and what is counted there is not, or t is as much
//   later as q takes: W(s) - (t - L(i, j)) is less by the lesser of both.
// - t is no earlier than the moment at which the path was at its task before,
//   and what lies between the two on the path; nor than the moment of the last
//   step, and what the resource of both takes between them.
//
// Computations count since gathers can be done in any order, and are on no path
// after each other: only where they are needed does it show that all of those
// before had to be done as well.
//
// The compute stream therefore stood still for at least t - W(s) before t, or
// not at all. A schedule chooses its way from (0, 0) to (n, m); the way whose
// largest such time is least is a bound for all of them. Of the ways to a state
// those are kept of which none is better in all: in what stood still, and in
// the moments at which either path was passed. Where there are too many, two
// become one that has the best of both, which is no worse than either.
//
// With time turned round the same holds for the end of a step. What stands
// still in its first half and in its second half adds up.

#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace mlir::weft;

namespace {

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();

/// The paths have so many tasks at most: any of a path are a path too.
constexpr size_t kMaxPlaces = 300;

/// So many ways to one state are kept at most, and to all together.
constexpr int64_t kMaxWays = 16, kMaxAllWays = 100000;

/// So many computations are counted at one collective at most.
constexpr size_t kMaxCounted = 12;

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
  /// How long it takes on the path to pass each after the one before.
  std::vector<int64_t> distance;

private:
  void measure(const TaskGraph &graph, const std::vector<int> &path);
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
  measure(graph, path);
}

/// A collective is passed at its end, a computation at its begin.
void Chain::measure(const TaskGraph &graph, const std::vector<int> &path) {
  int64_t sum = 0;
  for (int task : path) {
    bool isCollective = graph.resources[task] != 0;
    sum += isCollective ? graph.durations[task] : 0;
    if (distance.size() < tasks.size() && tasks[distance.size()] == task) {
      distance.push_back(sum);
      sum = 0;
    }
    sum += isCollective ? 0 : graph.durations[task];
  }
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

/// A way to a state: how long the compute stream stood still at least, and when
/// a(i) and b(j) were passed at the earliest.
struct Way {
  int64_t idle = 0;
  int64_t passed[2] = {0, 0};

  bool operator<(const Way &other) const {
    return std::tie(idle, passed[0], passed[1]) <
           std::tie(other.idle, other.passed[0], other.passed[1]);
  }
  bool isNoWorse(const Way &other) const {
    return idle <= other.idle && passed[0] <= other.passed[0] &&
           passed[1] <= other.passed[1];
  }
};

/// Leaves those of which none is better in all, and `most` at most.
void prune(std::vector<Way> &ways, size_t most) {
  std::sort(ways.begin(), ways.end());
  std::vector<Way> kept;
  for (const Way &way : ways)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Way &other) { return other.isNoWorse(way); }))
      kept.push_back(way);
  while (kept.size() > most) {
    size_t nearest = 0;
    auto getStep = [&](size_t i) { return kept[i + 1].idle - kept[i].idle; };
    for (size_t i = 1; i + 1 < kept.size(); ++i)
      if (getStep(i) < getStep(nearest))
        nearest = i;
    Way &way = kept[nearest];
    for (int side : {0, 1})
      way.passed[side] =
          std::min(way.passed[side], kept[nearest + 1].passed[side]);
    kept.erase(kept.begin() + nearest + 1);
  }
  ways = std::move(kept);
}

/// Two paths that advance from the beginning of a step.
class TwoPaths {
public:
  TwoPaths(const TaskGraph &graph, const std::vector<int64_t> &heads);

  /// How long the compute stream stands still at least in the first `most` ns.
  int64_t getIdle(int64_t most);

private:
  const Chain &getChain(int side) const { return side == 0 ? a : b; }
  void addLink(int link);
  Grid countLink(int link) const;
  std::vector<std::vector<int>> countAtCollectives() const;
  void addUnneeded(int collective, const std::vector<int> &counted, int side,
                   Grid &sum) const;
  Way step(const Way &from, int side, int i, int j, int64_t most);

  const TaskGraph &graph;
  const std::vector<int64_t> &heads;
  Chain a, b;
  /// L and W of each state.
  Grid earliest, work;
  /// For the step to each state, of the path a or b: L, and by how much what is
  /// computed by then is less than W.
  Grid delayed[2];
  /// The computations that are counted at each collective.
  std::vector<std::vector<int>> counted;
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
      work(a.size() + 1, b.size() + 1, 0), delayed{earliest, earliest},
      counted(countAtCollectives()) {
  for (int i = 0; i < graph.size(); ++i)
    if (graph.resources[i] == 0)
      work.at(a.numBefore[i], b.numBefore[i]) += graph.durations[i];
  work.accumulate();
  for (int link = 1; link < graph.numResources; ++link)
    addLink(link);
}

/// For each collective that is on neither path, computations of which it is the
/// last that they depend on, the first of these.
std::vector<std::vector<int>> TwoPaths::countAtCollectives() const {
  std::vector<int> last(graph.size(), -1);
  std::vector<std::vector<int>> lists(graph.size());
  for (int side : {0, 1})
    for (int task : getChain(side).tasks)
      last[task] = -2;
  for (int i = 0; i < graph.size(); ++i) {
    bool isOnPath = last[i] == -2;
    last[i] = -1;
    for (int before : graph.before[i])
      last[i] = std::max(last[i], last[before]);
    if (graph.durations[i] == 0)
      continue;
    if (graph.resources[i] != 0)
      last[i] = isOnPath ? last[i] : i;
    else if (last[i] >= 0 && lists[last[i]].size() < kMaxCounted)
      lists[last[i]].push_back(i);
  }
  return lists;
}

/// What a(i) or b(j) depends on, of one link.
Grid TwoPaths::countLink(int link) const {
  int lastA = a.size() + 1, lastB = b.size() + 1;
  Grid sum(lastA + 1, lastB + 1, 0);
  for (int i = 0; i < graph.size(); ++i)
    if (graph.resources[i] == link)
      sum.at(a.firstAfter[i], b.firstAfter[i]) += graph.durations[i];
  sum.accumulate();
  Grid needed(lastA, lastB, 0);
  for (int i = 0; i < lastA; ++i)
    for (int j = 0; j < lastB; ++j)
      needed.at(i, j) = sum.at(i, lastB) + sum.at(lastA, j) - sum.at(i, j);
  return needed;
}

/// Adds to the states from which a step of `side` leads to one that does not
/// depend on `collective`: the lesser of what it takes and of what is counted
/// at it there. `sum` is to be accumulated.
void TwoPaths::addUnneeded(int collective, const std::vector<int> &counted,
                           int side, Grid &sum) const {
  int endA = a.firstAfter[collective] - (side == 0 ? 1 : 0);
  int endB = b.firstAfter[collective] - (side == 1 ? 1 : 0);
  std::vector<int> rows, columns;
  for (int task : counted) {
    rows.push_back(a.numBefore[task]);
    columns.push_back(b.numBefore[task]);
  }
  for (std::vector<int> *list : {&rows, &columns}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  auto getLesser = [&](int row, int column) {
    int64_t duration = 0;
    for (int task : counted)
      if (row >= 0 && column >= 0 && a.numBefore[task] <= rows[row] &&
          b.numBefore[task] <= columns[column])
        duration += graph.durations[task];
    return std::min(duration, graph.durations[collective]);
  };
  for (int r = 0, rowEnd = rows.size(); r < rowEnd; ++r)
    for (int c = 0, columnEnd = columns.size(); c < columnEnd; ++c) {
      if (rows[r] >= endA || columns[c] >= endB)
        continue;
      int64_t more = getLesser(r, c) - getLesser(r - 1, c) -
                     getLesser(r, c - 1) + getLesser(r - 1, c - 1);
      sum.at(rows[r], columns[c]) += more;
      sum.at(endA, columns[c]) -= more;
      sum.at(rows[r], endB) -= more;
      sum.at(endA, endB) += more;
    }
}

void TwoPaths::addLink(int link) {
  int64_t head = kInfinite;
  for (int i = 0; i < graph.size(); ++i)
    if (graph.resources[i] == link && graph.durations[i] > 0)
      head = std::min(head, heads[i]);
  Grid needed = countLink(link);
  for (int side : {0, 1}) {
    Grid less(a.size() + 2, b.size() + 2, 0);
    for (int i = 0; i < graph.size(); ++i)
      if (graph.resources[i] == link && !counted[i].empty())
        addUnneeded(i, counted[i], side, less);
    less.accumulate();
    for (int i = 0; i <= a.size(); ++i)
      for (int j = 0; j <= b.size(); ++j) {
        int fromI = i - (side == 0 ? 1 : 0), fromJ = j - (side == 1 ? 1 : 0);
        if (needed.at(i, j) == 0 || fromI < 0 || fromJ < 0)
          continue;
        int64_t time = head + needed.at(i, j);
        earliest.at(i, j) = std::max(earliest.at(i, j), time);
        delayed[side].at(i, j) =
            std::max(delayed[side].at(i, j), time + less.at(fromI, fromJ));
      }
  }
}

/// The way that comes to (i, j) by a step of the path `side`.
Way TwoPaths::step(const Way &from, int side, int i, int j, int64_t most) {
  int number = side == 0 ? i : j, other = side == 0 ? j : i;
  int task = getChain(side).tasks[number - 1];
  bool isCollective = graph.resources[task] != 0;
  Way to = from;
  int64_t &time = to.passed[side];
  time = std::max(
      {from.passed[0], from.passed[1], earliest.at(i, j),
       heads[task] + (isCollective ? graph.durations[task] : 0),
       number == 1 ? 0
                   : from.passed[side] + getChain(side).distance[number - 1]});
  int beside = other > 0 ? getChain(1 - side).tasks[other - 1] : task;
  if (beside != task && graph.resources[beside] == graph.resources[task])
    time = std::max(time, from.passed[1 - side] +
                              graph.durations[isCollective ? task : beside]);
  int64_t computed = side == 0 ? work.at(i - 1, j) : work.at(i, j - 1);
  to.idle =
      std::max(to.idle, std::min(std::max(time, delayed[side].at(i, j)), most) -
                            computed);
  return to;
}

int64_t TwoPaths::getIdle(int64_t most) {
  int64_t numStates = int64_t(a.size() + 1) * (b.size() + 1);
  size_t maxWays = std::clamp<int64_t>(kMaxAllWays / numStates, 1, kMaxWays);
  // Those to the states of the row before, and of this one up to column j.
  std::vector<std::vector<Way>> row(b.size() + 1);
  for (int i = 0; i <= a.size(); ++i)
    for (int j = 0; j <= b.size(); ++j) {
      std::vector<Way> ways;
      if (i == 0 && j == 0)
        ways.emplace_back();
      for (int side : {0, 1})
        if ((side == 0 ? i : j) > 0)
          for (const Way &from : row[side == 0 ? j : j - 1])
            ways.push_back(step(from, side, i, j, most));
      prune(ways, maxWays);
      row[j] = std::move(ways);
    }
  return row.back().front().idle;
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
