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

#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <cmath>

using namespace mlir::weft;

TaskGraph TaskGraph::induced(const std::vector<int> &tasks) const {
  std::vector<int> number(size(), -1);
  for (int i = 0, e = tasks.size(); i < e; ++i)
    number[tasks[i]] = i;
  TaskGraph graph;
  graph.numResources = numResources;
  std::vector<std::pair<int, int>> edges, reversedEdges;
  for (int task : tasks) {
    graph.durations.push_back(durations[task]);
    graph.resources.push_back(resources[task]);
    for (int next : after[task])
      if (number[next] >= 0) {
        edges.emplace_back(number[task], number[next]);
        reversedEdges.emplace_back(number[next], number[task]);
      }
  }
  graph.after = Adjacency(graph.size(), edges);
  graph.before = Adjacency(graph.size(), reversedEdges);
  return graph;
}

namespace {

/// A step that is cut at computations of its longest path.
class PathParts {
public:
  PathParts(const TaskGraph &graph, const std::vector<int64_t> &heads,
            std::vector<int> cuts);

  /// When the last of all tasks is done at the earliest.
  int64_t computeEnd();

private:
  int64_t getLength(int from, int to) const;

  const TaskGraph &graph;
  std::vector<int> cuts;
  /// Per task, the last cut that it depends on, or -1, and the first that
  /// depends on it, or their number.
  std::vector<int> before, after;
  /// Per cut when it begins at the earliest, and at last when the step ends.
  std::vector<int64_t> begins;
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

/// How long what is between two cuts takes at least.
int64_t PathParts::getLength(int from, int to) const {
  std::vector<int> tasks;
  std::vector<int64_t> work(graph.numResources, 0);
  for (int i = 0; i < graph.size(); ++i)
    if (before[i] >= from && after[i] <= to) {
      tasks.push_back(i);
      work[graph.resources[i]] += graph.durations[i];
    }
  int64_t most = *std::max_element(work.begin(), work.end());
  return tasks.empty()
             ? 0
             : std::max(most, computeWorkAndWaits(graph.induced(tasks)));
}

int64_t PathParts::computeEnd() {
  begins.push_back(0);
  for (int to = 0, e = cuts.size(); to <= e; ++to)
    for (int from = -1; from < to; ++from) {
      int64_t end = from < 0 ? 0 : begins[from] + graph.durations[cuts[from]];
      begins[to] = std::max(begins[to], end + getLength(from, to));
    }
  return begins.back();
}

} // namespace

/// Computations of the longest path, as many tasks apart. Of large steps there
/// are fewer, since the time for the parts grows with their square.
static std::vector<int> chooseCuts(const TaskGraph &graph) {
  constexpr double kEffort = 6e6, kMost = 48;
  int numCuts = std::min(kMost, std::sqrt(kEffort / (graph.size() + 1)));
  std::vector<int> path, cuts;
  for (int i : findLongestPath(graph))
    if (graph.resources[i] == 0)
      path.push_back(i);
  for (int i = 1; i <= numCuts && !path.empty(); ++i)
    cuts.push_back(path[path.size() * i / (numCuts + 1)]);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

int64_t mlir::weft::computeLengthOfParts(const TaskGraph &graph,
                                         const std::vector<int64_t> &heads) {
  return PathParts(graph, heads, chooseCuts(graph)).computeEnd();
}
