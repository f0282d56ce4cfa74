// SPDX-License-Identifier: Apache-2.0

// A value that is needed is kept, or its task is done again and needs its own
// inputs: a least cut between what the backward pass reads and a sink. Each
// value is a node that is reached if it is needed; each task is one that is
// reached if it is repeated. To keep a value cuts the edge from it to its task,
// and to repeat a task cuts the edge from that to the sink.

#include "weft/Schedule/SavedValues.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace mlir::weft;

namespace {

using Capacity = __int128;
constexpr Capacity kUnlimited = Capacity(1) << 120;

/// Prices are per so many bytes.
constexpr int kPriceShift = 20;
/// Higher than anything is worth.
constexpr int64_t kHighestPrice = int64_t(1) << 40;
/// How often the range of prices is divided at a corner of the hull, and in
/// programs of so many tasks.
constexpr int kMaxDepth = 3, kMaxLargeDepth = 1;
constexpr size_t kMaxSmall = 2000;

/// A network of edges with capacities, and the flow through it (Dinic).
class Network {
public:
  explicit Network(int count) : first(count, -1), level(count), next(count) {}

  void addEdge(int from, int to, Capacity capacity) {
    edges.push_back({to, first[from], capacity});
    first[from] = static_cast<int>(edges.size()) - 1;
    edges.push_back({from, first[to], 0});
    first[to] = static_cast<int>(edges.size()) - 1;
  }

  /// Sends as much as there is room for. What is reached from the source then
  /// is on its side of the least cut.
  void fill(int source, int sink) {
    while (findLevels(source, sink)) {
      next = first;
      while (sendAlongPath(source, sink))
        ;
    }
  }

  bool isReached(int node) const { return level[node] >= 0; }

private:
  struct Edge {
    int to, following;
    Capacity left;
  };

  bool findLevels(int source, int sink) {
    std::fill(level.begin(), level.end(), -1);
    level[source] = 0;
    std::vector<int> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (int e = first[queue[i]]; e >= 0; e = edges[e].following)
        if (edges[e].left > 0 && level[edges[e].to] < 0) {
          level[edges[e].to] = level[queue[i]] + 1;
          queue.push_back(edges[e].to);
        }
    return level[sink] >= 0;
  }

  /// One path of edges that lead a level further each.
  bool sendAlongPath(int source, int sink) {
    std::vector<int> path;
    int node = source;
    while (node != sink) {
      int &e = next[node];
      while (e >= 0 &&
             (edges[e].left <= 0 || level[edges[e].to] != level[node] + 1))
        e = edges[e].following;
      if (e >= 0) {
        path.push_back(e);
        node = edges[e].to;
        continue;
      }
      if (path.empty())
        return false;
      // A dead end is not entered again.
      level[node] = std::numeric_limits<int>::max();
      node = edges[path.back() ^ 1].to;
      path.pop_back();
    }
    Capacity sent = kUnlimited;
    for (int e : path)
      sent = std::min(sent, edges[e].left);
    for (int e : path) {
      edges[e].left -= sent;
      edges[e ^ 1].left += sent;
    }
    return true;
  }

  std::vector<Edge> edges;
  std::vector<int> first, level, next;
};

/// The bytes of what is kept, and the time of that and of what is repeated.
void addUp(const SavedProblem &problem, SavedChoice &choice) {
  std::vector<bool> isNeeded(problem.values.size(), false);
  for (size_t i = 0; i < problem.values.size(); ++i)
    isNeeded[i] = problem.values[i].isNeeded;
  choice.bytes = choice.nanoseconds = 0;
  for (size_t i = 0; i < problem.tasks.size(); ++i) {
    if (!choice.repeats[i])
      continue;
    choice.nanoseconds += problem.tasks[i].nanoseconds;
    for (int input : problem.tasks[i].inputs)
      isNeeded[input] = true;
  }
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (isNeeded[i] && !choice.repeats[problem.values[i].task]) {
      choice.bytes += problem.values[i].bytes;
      choice.nanoseconds += problem.values[i].nanoseconds;
    }
}

/// Finds the corners of the hull between two of them.
class Hull {
public:
  explicit Hull(const SavedProblem &problem)
      : problem(problem),
        maxDepth(problem.tasks.size() > kMaxSmall ? kMaxLargeDepth
                                                  : kMaxDepth) {
    SavedChoice all = chooseSaved(problem, 0);
    SavedChoice least = chooseSaved(problem, kHighestPrice);
    divide(all, least, 0);
    prices.insert(getPrice(all, least));
  }

  std::set<int64_t> prices;

private:
  /// Where both cost the same.
  static int64_t getPrice(const SavedChoice &more, const SavedChoice &less) {
    if (more.bytes <= less.bytes)
      return kHighestPrice;
    Capacity scaled = Capacity(less.nanoseconds - more.nanoseconds)
                      << kPriceShift;
    return static_cast<int64_t>(std::min<Capacity>(
        scaled / (more.bytes - less.bytes) + 1, kHighestPrice));
  }

  void divide(const SavedChoice &more, const SavedChoice &less, int depth) {
    if (more.bytes <= less.bytes)
      return;
    int64_t price = getPrice(more, less);
    SavedChoice between = chooseSaved(problem, price);
    bool isNew = between.bytes < more.bytes && between.bytes > less.bytes;
    if (!isNew || depth == maxDepth) {
      prices.insert(price);
      return;
    }
    divide(more, between, depth + 1);
    divide(between, less, depth + 1);
  }

  const SavedProblem &problem;
  int maxDepth;
};

} // namespace

SavedChoice mlir::weft::chooseSaved(const SavedProblem &problem,
                                    int64_t price) {
  int numValues = static_cast<int>(problem.values.size());
  int numTasks = static_cast<int>(problem.tasks.size());
  int source = numValues + numTasks, sink = source + 1;
  Network network(sink + 1);
  for (int i = 0; i < numValues; ++i) {
    const SavedProblem::Value &value = problem.values[i];
    if (value.isNeeded)
      network.addEdge(source, i, kUnlimited);
    network.addEdge(i, numValues + value.task,
                    Capacity(value.bytes) * price +
                        (Capacity(value.nanoseconds) << kPriceShift));
  }
  for (int i = 0; i < numTasks; ++i) {
    const SavedProblem::Task &task = problem.tasks[i];
    network.addEdge(numValues + i, sink,
                    task.mayRepeat ? Capacity(task.nanoseconds) << kPriceShift
                                   : kUnlimited);
    for (int input : task.inputs)
      network.addEdge(numValues + i, input, kUnlimited);
  }
  network.fill(source, sink);
  SavedChoice choice;
  for (int i = 0; i < numTasks; ++i)
    choice.repeats.push_back(network.isReached(numValues + i));
  addUp(problem, choice);
  return choice;
}

std::vector<int64_t> mlir::weft::findPrices(const SavedProblem &problem) {
  std::set<int64_t> prices = Hull(problem).prices;
  return {prices.begin(), prices.end()};
}
