// SPDX-License-Identifier: Apache-2.0

// What the parts of a step take one after the other.
//
// Let c(1) -> c(2) -> ... be tasks of the longest path, the cuts. What depends
// on c(i), and c(j) on it, lies between the end of c(i) and the begin of c(j)
// in every schedule, which takes at least as long as these tasks need by
// themselves: for the work of each resource, and its waits beside their own
// longest path. So c(j) begins no earlier than the end of c(i) and that. In
// front of c(1) is all that it depends on, and after the last all that depends
// on it. This sees that the link is busy with gathers in the forward pass, and
// the compute stream afterwards; of the whole step neither may be.
//
// Within a limit of memory, of the tasks F of one resource that could be in
// front of c(i) or after c(j), some have to be between the two (CutMemory.h).
// Do those of F that are not first of all, or last: what is between takes
// longer by no more than they do, and all of F is there. So a bound for all of
// it, less the time of those that need not be there, holds.

#include "CutMemory.h"
#include "LeanOrder.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>

using namespace mlir::weft;

TaskGraph TaskGraph::induced(const std::vector<int> &tasks) const {
  std::vector<int> number(size(), -1);
  for (int i = 0, e = tasks.size(); i < e; ++i)
    number[tasks[i]] = i;
  TaskGraph graph;
  graph.numResources = numResources;
  for (int task : tasks) {
    graph.durations.push_back(durations[task]);
    graph.resources.push_back(resources[task]);
  }
  graph.after = after.induced(tasks, number);
  graph.before = before.induced(tasks, number);
  for (auto [first, second] : linkOrders)
    if (number[first] >= 0 && number[second] >= 0)
      graph.linkOrders.emplace_back(number[first], number[second]);
  std::sort(graph.linkOrders.begin(), graph.linkOrders.end());
  return graph;
}

namespace {

/// A step that is cut at computations of its longest path.
class PathParts {
public:
  PathParts(const TaskGraph &graph, const std::vector<int64_t> &heads,
            std::vector<int> cuts);

  /// From now on no more than `limit` bytes may be alive.
  void limitMemory(const ScheduleProblem &problem, int64_t limit);

  /// The order of cuts and of what the limit lets be on one side of them only.
  Precedences listForced() const;

  /// When the last of all tasks is done at the earliest.
  int64_t computeEnd();

private:
  int64_t getLength(int from, int to, int64_t least) const;
  int64_t getLengthInOrder(const std::vector<int> &tasks) const;
  CutMemory::Side getForced(int resource, int from, int to) const;

  const TaskGraph &graph;
  std::vector<int> cuts;
  /// Per task, the last cut that it depends on, or -1, and the first that
  /// depends on it, or their number.
  std::vector<int> before, after;
  /// Per cut when it begins at the earliest, and at last when the step ends.
  std::vector<int64_t> begins;
  /// Per cut, if memory is limited.
  std::vector<CutMemory> memory;
};

PathParts::PathParts(const TaskGraph &graph, const std::vector<int64_t> &heads,
                     std::vector<int> taken)
    : graph(graph), cuts(std::move(taken)), before(graph.size(), -1),
      after(graph.size(), static_cast<int>(cuts.size())) {
  std::vector<int> cutOf(graph.size(), -1);
  for (int cut = 0, e = cuts.size(); cut < e; ++cut) {
    cutOf[cuts[cut]] = cut;
    begins.push_back(heads[cuts[cut]]);
  }
  for (int i = 0; i < graph.size(); ++i)
    for (int previous : graph.before[i])
      before[i] = std::max({before[i], before[previous], cutOf[previous]});
  for (int i = graph.size(); i-- > 0;)
    for (int next : graph.after[i]) {
      after[i] = std::min(after[i], after[next]);
      if (cutOf[next] >= 0)
        after[i] = std::min(after[i], cutOf[next]);
    }
}

void PathParts::limitMemory(const ScheduleProblem &problem, int64_t limit) {
  for (int cut = 0, e = cuts.size(); cut < e; ++cut) {
    std::vector<CutSide> sides(graph.size(), CutSide::Beside);
    for (int i = 0; i < graph.size(); ++i)
      if (before[i] >= cut)
        sides[i] = CutSide::After;
      else if (after[i] <= cut)
        sides[i] = CutSide::Before;
    sides[cuts[cut]] = CutSide::At;
    memory.emplace_back(problem, sides, computeBytesBeside(problem, cuts[cut]),
                        limit);
  }
}

Precedences PathParts::listForced() const {
  Precedences forced;
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    memory[cut].addForced(cuts[cut], forced);
  return forced;
}

/// What need not be between two cuts, but has no memory before the one or after
/// the other.
CutMemory::Side PathParts::getForced(int resource, int from, int to) const {
  CutMemory::Side forced;
  if (from >= 0)
    memory[from].addAfter(
        resource, [&](int task) { return after[task] <= to; }, forced);
  if (to < static_cast<int>(cuts.size()))
    memory[to].addBefore(
        resource, [&](int task) { return before[task] >= from; }, forced);
  return forced;
}

/// What some tasks take by themselves in the order of their numbers: none of
/// their bounds is above.
int64_t PathParts::getLengthInOrder(const std::vector<int> &tasks) const {
  std::vector<int64_t> ends(graph.size(), 0), free(graph.numResources, 0);
  for (int task : tasks) {
    int64_t &end = free[graph.resources[task]];
    for (int previous : graph.before[task])
      end = std::max(end, ends[previous]);
    end += graph.durations[task];
    ends[task] = end;
  }
  return *std::max_element(free.begin(), free.end());
}

/// How long what is between two cuts takes at least. No more than `least` is
/// of no use: then it may be said to be less.
int64_t PathParts::getLength(int from, int to, int64_t least) const {
  std::vector<int> tasks;
  std::vector<int64_t> work(graph.numResources, 0);
  for (int i = 0; i < graph.size(); ++i)
    if (before[i] >= from && after[i] <= to) {
      tasks.push_back(i);
      work[graph.resources[i]] += graph.durations[i];
    }
  int64_t most = *std::max_element(work.begin(), work.end());
  if (!tasks.empty() && getLengthInOrder(tasks) > std::max(most, least))
    most = std::max(most, computeWorkAndWaits(graph.induced(tasks)));
  for (int r = 0; r < graph.numResources && !memory.empty(); ++r) {
    CutMemory::Side forced = getForced(r, from, to);
    most = std::max(most, work[r] + forced.least);
    if (forced.least == 0 || tasks.empty())
      continue;
    // With all of them it would take longer by no more than those take that are
    // elsewhere.
    std::sort(forced.tasks.begin(), forced.tasks.end());
    std::vector<int> all;
    std::merge(tasks.begin(), tasks.end(), forced.tasks.begin(),
               forced.tasks.end(), std::back_inserter(all));
    int64_t elsewhere = forced.duration - forced.least;
    if (getLengthInOrder(all) - elsewhere > std::max(most, least))
      most =
          std::max(most, computeWorkAndWaits(graph.induced(all)) - elsewhere);
  }
  return most;
}

int64_t PathParts::computeEnd() {
  begins.push_back(0);
  for (int to = 0, e = cuts.size(); to <= e; ++to)
    for (int from = -1; from < to; ++from) {
      int64_t end = from < 0 ? 0 : begins[from] + graph.durations[cuts[from]];
      begins[to] =
          std::max(begins[to], end + getLength(from, to, begins[to] - end));
    }
  return begins.back();
}

} // namespace

/// Computations of a path, as many tasks apart, the longest, and `always`, if
/// it is one. Of large steps there are fewer, since the time for the parts
/// grows with their square.
static std::vector<int> chooseCuts(const TaskGraph &graph,
                                   const std::vector<int> &tasks,
                                   int always = -1) {
  constexpr double kEffort = 6e6, kMost = 48;
  constexpr size_t kNumLongest = 4;
  int numCuts = std::min(kMost, std::sqrt(kEffort / (graph.size() + 1)));
  std::vector<int> path, cuts;
  for (int i : tasks)
    if (graph.resources[i] == 0)
      path.push_back(i);
  for (int i = 1; i <= numCuts && !path.empty(); ++i)
    cuts.push_back(path[path.size() * i / (numCuts + 1)]);
  if (always >= 0 && graph.resources[always] == 0)
    cuts.push_back(always);
  std::stable_sort(path.begin(), path.end(), [&](int a, int b) {
    return graph.durations[a] > graph.durations[b];
  });
  path.resize(std::min(path.size(), kNumLongest));
  cuts.insert(cuts.end(), path.begin(), path.end());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

int64_t mlir::weft::computeLengthOfParts(const TaskGraph &graph,
                                         const std::vector<int64_t> &heads) {
  return PathParts(graph, heads, chooseCuts(graph, findLongestPath(graph)))
      .computeEnd();
}

/// What takes longest in front of a task, itself, and what does after it.
static std::vector<int> findPathThrough(const TaskGraph &graph, int task) {
  std::vector<bool> isBefore(graph.size(), false), isAfter = isBefore;
  isBefore[task] = true;
  for (int i = task; i >= 0; --i)
    for (int previous : graph.before[i])
      isBefore[previous] = isBefore[previous] || isBefore[i];
  for (int i = task; i < graph.size(); ++i)
    for (int next : graph.after[i])
      isAfter[next] = isAfter[next] || isAfter[i] || i == task;
  std::vector<int> path;
  for (const std::vector<bool> &isPart : {isBefore, isAfter}) {
    std::vector<int> part;
    for (int i = 0; i < graph.size(); ++i)
      if (isPart[i])
        part.push_back(i);
    for (int i : findLongestPath(graph.induced(part)))
      path.push_back(part[i]);
  }
  return path;
}

/// Cut where most is alive, and on the way there, as what is ahead there has to
/// be so on the way.
static PathParts makePartsWithin(const ScheduleProblem &problem,
                                 const TaskGraph &graph, int64_t limit) {
  int full = findFullTask(problem).task;
  PathParts parts(graph, computeHeads(graph),
                  full < 0
                      ? std::vector<int>()
                      : chooseCuts(graph, findPathThrough(graph, full), full));
  parts.limitMemory(problem, limit);
  return parts;
}

int64_t mlir::weft::computeLengthOfPartsWithin(const ScheduleProblem &problem,
                                               int64_t limit) {
  TaskGraph graph(problem);
  return makePartsWithin(problem, graph, limit).computeEnd();
}

Precedences mlir::weft::findOrderWithin(const ScheduleProblem &problem,
                                        int64_t limit) {
  TaskGraph graph(problem);
  return makePartsWithin(problem, graph, limit).listForced();
}
