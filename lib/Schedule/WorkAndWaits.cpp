// SPDX-License-Identifier: Apache-2.0

// How long a resource must stand still beside a path.
//
// Let v(1) -> v(2) -> ... be tasks that depend on each other in this order, and
// R a resource. The tasks of the path that are not R's, say collectives between
// layers where R is the compute stream, come in gaps: between two of R's that
// take time, or in front of the first or behind the last. While one of them
// runs, R stands still or does a task j that is not on the path, since R's own
// on the path come before or after it. This j
//
// - neither depends on v(i) nor the other way round, if they run at the same
//   time. What is on the path in front of something that j depends on comes
//   before j as well, so that the v(i) in question are a range of the path;
// - runs beside one gap only, since between two gaps R does a task of the path,
//   and no task is interrupted;
// - and so fills at most min(duration of j, length of that gap in its range).
//
// A schedule therefore fills at most what can flow from all j into the gaps,
// each j into those of its range, no gap by more than its length. Ranges are
// intervals, so that filling gap after gap with what is possible no longer than
// the others is a largest flow (F. Glover, "Maximum matching in a convex
// bipartite graph", NRLQ 14, 1967). The rest of the gaps R stands still, and
// besides it has to do all of its work.

#include "weft/Schedule/Bound.h"

#include <queue>

using namespace mlir::weft;

std::vector<int> mlir::weft::findLongestPath(const TaskGraph &graph) {
  std::vector<int64_t> ends(graph.size(), 0);
  std::vector<int> previous(graph.size(), -1);
  int last = -1;
  for (int i = 0; i < graph.size(); ++i) {
    for (int before : graph.before[i])
      if (previous[i] < 0 || ends[before] > ends[i]) {
        ends[i] = ends[before];
        previous[i] = before;
      }
    ends[i] += graph.durations[i];
    if (last < 0 || ends[i] > ends[last])
      last = i;
  }
  std::vector<int> path;
  for (int i = last; i >= 0; i = previous[i])
    path.push_back(i);
  std::reverse(path.begin(), path.end());
  return path;
}

namespace {

/// The largest of any range of a list.
class RangeMaximum {
public:
  explicit RangeMaximum(std::vector<int64_t> values) {
    levels.push_back(std::move(values));
    for (size_t width = 1; 2 * width <= levels[0].size(); width *= 2) {
      const std::vector<int64_t> &half = levels.back();
      std::vector<int64_t> level;
      for (size_t i = 0; i + width < half.size(); ++i)
        level.push_back(std::max(half[i], half[i + width]));
      levels.push_back(std::move(level));
    }
  }

  /// Of the values from `first` to `last`, at least one.
  int64_t get(int first, int last) const {
    int level = 0;
    while (2 << level <= last - first + 1)
      ++level;
    return std::max(levels[level][first],
                    levels[level][last + 1 - (1 << level)]);
  }

private:
  /// Of each number of values that is a power of two.
  std::vector<std::vector<int64_t>> levels;
};

/// Places are positions on the path.
class WaitsBesidePath {
public:
  WaitsBesidePath(const TaskGraph &graph, const std::vector<int> &path);

  /// The work of `resource` and how long it stands still.
  int64_t getBound(int resource);

private:
  /// Tasks from one place to another that are not the resource's, except those
  /// that take no time, and how long they take.
  struct Gap {
    int first, last;
    int64_t length;
  };
  /// A task that fills up to `amount` of the gaps from `first` to `last`.
  struct Filler {
    int first, last;
    int64_t amount;
  };

  void findGaps(int resource);
  void addFiller(int task, const RangeMaximum &lengths);
  int64_t getClipped(int gap, int from, int to) const;
  int64_t fillGaps();

  const TaskGraph &graph;
  const std::vector<int> &path;
  /// The last place that each task depends on, or its own, and the first that
  /// depends on it.
  std::vector<int> before, after;
  std::vector<bool> isOnPath;
  std::vector<Gap> gaps;
  /// Per place, how long those in front of it take that are not the resource's.
  std::vector<int64_t> lengthBefore;
  std::vector<Filler> fillers;
};

WaitsBesidePath::WaitsBesidePath(const TaskGraph &graph,
                                 const std::vector<int> &path)
    : graph(graph), path(path), before(graph.size(), -1),
      after(graph.size(), path.size()), isOnPath(graph.size(), false) {
  for (int place = 0, e = path.size(); place < e; ++place) {
    before[path[place]] = after[path[place]] = place;
    isOnPath[path[place]] = true;
  }
  for (int i = 0; i < graph.size(); ++i)
    for (int previous : graph.before[i])
      before[i] = std::max(before[i], before[previous]);
  for (int i = graph.size(); i-- > 0;)
    for (int next : graph.after[i])
      after[i] = std::min(after[i], after[next]);
}

void WaitsBesidePath::findGaps(int resource) {
  gaps.clear();
  lengthBefore.assign(1, 0);
  bool isOpen = false;
  for (int place = 0, e = path.size(); place < e; ++place) {
    bool isOwn = graph.resources[path[place]] == resource;
    int64_t duration = graph.durations[path[place]];
    lengthBefore.push_back(lengthBefore.back() + (isOwn ? 0 : duration));
    if (duration == 0)
      continue;
    if (!isOwn && !isOpen)
      gaps.push_back(Gap{place, place, 0});
    isOpen = !isOwn;
    if (isOwn)
      continue;
    gaps.back().last = place;
    gaps.back().length += duration;
  }
}

/// How long the part of a gap takes that is from place `from` to place `to`.
int64_t WaitsBesidePath::getClipped(int gap, int from, int to) const {
  return lengthBefore[std::min(to, gaps[gap].last) + 1] -
         lengthBefore[std::max(from, gaps[gap].first)];
}

void WaitsBesidePath::addFiller(int task, const RangeMaximum &lengths) {
  int from = before[task] + 1, to = after[task] - 1;
  int first =
      std::partition_point(gaps.begin(), gaps.end(),
                           [&](const Gap &g) { return g.last < from; }) -
      gaps.begin();
  int last = std::partition_point(gaps.begin(), gaps.end(),
                                  [&](const Gap &g) { return g.first <= to; }) -
             gaps.begin() - 1;
  if (first > last)
    return;
  int64_t longest =
      std::max(getClipped(first, from, to), getClipped(last, from, to));
  if (last - first > 1)
    longest = std::max(longest, lengths.get(first + 1, last - 1));
  int64_t amount = std::min(graph.durations[task], longest);
  if (amount > 0)
    fillers.push_back(Filler{first, last, amount});
}

/// Fills the gaps one after the other, and returns what is left of them.
int64_t WaitsBesidePath::fillGaps() {
  std::stable_sort(
      fillers.begin(), fillers.end(),
      [](const Filler &a, const Filler &b) { return a.first < b.first; });
  // By their last gap, the nearest first.
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>,
                      std::greater<>>
      open;
  size_t next = 0;
  int64_t rest = 0;
  for (int i = 0, e = gaps.size(); i < e; ++i) {
    for (; next < fillers.size() && fillers[next].first <= i; ++next)
      open.emplace(fillers[next].last, next);
    int64_t left = gaps[i].length;
    while (left > 0 && !open.empty()) {
      Filler &filler = fillers[open.top().second];
      int64_t part = filler.last < i ? 0 : std::min(left, filler.amount);
      left -= part;
      filler.amount -= part;
      if (filler.last < i || filler.amount == 0)
        open.pop();
    }
    rest += left;
  }
  return rest;
}

int64_t WaitsBesidePath::getBound(int resource) {
  findGaps(resource);
  std::vector<int64_t> lengths;
  for (const Gap &gap : gaps)
    lengths.push_back(gap.length);
  RangeMaximum maximum(std::move(lengths));
  fillers.clear();
  int64_t work = 0;
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.resources[i] != resource)
      continue;
    work += graph.durations[i];
    if (!isOnPath[i])
      addFiller(i, maximum);
  }
  return work + fillGaps();
}

} // namespace

int64_t mlir::weft::computeWorkAndWaits(const TaskGraph &graph) {
  std::vector<int> path = findLongestPath(graph);
  WaitsBesidePath waits(graph, path);
  int64_t bound = 0;
  for (int r = 0; r < graph.numResources; ++r)
    bound = std::max(bound, waits.getBound(r));
  return bound;
}
