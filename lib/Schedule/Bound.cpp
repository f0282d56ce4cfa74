// SPDX-License-Identifier: Apache-2.0

// Heads, tails, and the relaxation to one resource at a time.
//
// A head is a time before which a task cannot begin, a tail the time that must
// pass after its end. If only one resource could do one thing at a time, and
// its tasks could be interrupted, then doing at each moment what has the
// longest tail among what could begin would be optimal (Jackson's preemptive
// schedule; J. Carlier, "The one-machine sequencing problem", EJOR 11, 1982).
// Its length is a bound for the real problem.
//
// Heads are better than longest paths: if tasks S of one resource must all be
// done before v, then v begins at least min head(S) + sum duration(S). The best
// S for one resource is the tasks above some head, so sorting by head finds it.

#include "weft/Schedule/Bound.h"

#include <functional>
#include <queue>

using namespace mlir::weft;

TaskGraph::TaskGraph(const ScheduleProblem &problem)
    : numResources(problem.getNumResources()),
      before(problem.getPredecessors()), after(problem.getSuccessors()) {
  for (int i = 0; i < problem.size(); ++i) {
    durations.push_back(problem.task(i).duration);
    resources.push_back(problem.resource(i));
  }
}

TaskGraph TaskGraph::reversed() const {
  TaskGraph graph;
  int last = size() - 1;
  graph.durations.assign(durations.rbegin(), durations.rend());
  graph.resources.assign(resources.rbegin(), resources.rend());
  graph.numResources = numResources;
  graph.after = before.reversed();
  graph.before = after.reversed();
  for (auto [first, second] : linkOrders)
    graph.linkOrders.emplace_back(last - second, last - first);
  std::sort(graph.linkOrders.begin(), graph.linkOrders.end());
  return graph;
}

TaskGraph TaskGraph::ordered(const std::vector<int> &order,
                             const Precedences &precedences) const {
  std::vector<int> number(size());
  TaskGraph graph;
  graph.numResources = numResources;
  for (int i = 0; i < size(); ++i) {
    number[order[i]] = i;
    graph.durations.push_back(durations[order[i]]);
    graph.resources.push_back(resources[order[i]]);
  }
  Precedences edges, reversedEdges;
  auto add = [&](int from, int to) {
    edges.emplace_back(number[from], number[to]);
    reversedEdges.emplace_back(number[to], number[from]);
  };
  for (int i = 0; i < size(); ++i)
    for (int next : after[i])
      add(i, next);
  for (auto [first, second] : linkOrders)
    graph.linkOrders.emplace_back(number[first], number[second]);
  for (auto [first, second] : precedences) {
    add(first, second);
    if (resources[first] != 0 && resources[first] == resources[second])
      graph.linkOrders.emplace_back(number[first], number[second]);
  }
  std::sort(graph.linkOrders.begin(), graph.linkOrders.end());
  graph.after = Adjacency(size(), edges);
  graph.before = Adjacency(size(), reversedEdges);
  return graph;
}

std::vector<int> mlir::weft::orderTasks(const TaskGraph &graph,
                                        const Precedences &precedences) {
  std::vector<std::vector<int>> more(graph.size());
  std::vector<int> numBefore(graph.size());
  for (int i = 0; i < graph.size(); ++i)
    numBefore[i] = graph.before[i].size();
  for (auto [from, to] : precedences) {
    more[from].push_back(to);
    ++numBefore[to];
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.size(); ++i)
    if (numBefore[i] == 0)
      ready.push(i);
  std::vector<int> order;
  auto finish = [&](int task) {
    if (--numBefore[task] == 0)
      ready.push(task);
  };
  while (!ready.empty()) {
    int task = ready.top();
    ready.pop();
    order.push_back(task);
    for (int next : graph.after[task])
      finish(next);
    for (int next : more[task])
      finish(next);
  }
  return order;
}

namespace {

/// How many tasks in front of a collective are looked at for its head.
constexpr int kWindow = 160;

/// How many thresholds of heads there are for what lies farther back.
constexpr int kNumThresholds = 24;

/// Computes heads in order of the tasks' numbers.
class HeadComputation {
public:
  explicit HeadComputation(const TaskGraph &graph)
      : graph(graph), heads(graph.size(), 0), seen(graph.size(), -1),
        byResource(graph.numResources), isOnPath(graph.size(), false),
        isCounted(graph.size(), false) {
    for (int i : findLongestPath(graph))
      isOnPath[i] = true;
  }

  std::vector<int64_t> run() {
    int distance = graph.size() / kNumThresholds + 1, nextThreshold = 0;
    for (int i = 0; i < graph.size(); ++i) {
      for (int previous : graph.before[i])
        heads[i] =
            std::max(heads[i], heads[previous] + graph.durations[previous]);
      if (graph.resources[i] != 0)
        improve(i);
      if (!isOnPath[i])
        continue;
      countAncestors(i);
      if (i >= nextThreshold) {
        thresholds.push_back(
            {heads[i], std::vector<int64_t>(graph.numResources, 0)});
        nextThreshold = i + distance;
      }
    }
    return std::move(heads);
  }

private:
  /// Raises the head of `task` by what the nearest tasks in front of it occupy.
  void improve(int task) {
    for (std::vector<int> &list : byResource)
      list.clear();
    std::priority_queue<int> queue;
    auto visit = [&](int i) {
      for (int previous : graph.before[i])
        if (seen[previous] != task) {
          seen[previous] = task;
          queue.push(previous);
        }
    };
    visit(task);
    for (int count = 0; count < kWindow && !queue.empty(); ++count) {
      int ancestor = queue.top();
      queue.pop();
      if (graph.durations[ancestor] > 0)
        byResource[graph.resources[ancestor]].push_back(ancestor);
      visit(ancestor);
    }
    for (std::vector<int> &list : byResource)
      heads[task] = std::max(heads[task], getEnd(list));
  }

  /// Raises the head of a task of the longest path by all that it depends on.
  /// What the path's earlier tasks depend on was counted before, so that each
  /// task is counted once.
  void countAncestors(int task) {
    std::vector<int> stack{task};
    while (!stack.empty()) {
      int next = stack.back();
      stack.pop_back();
      for (int before : graph.before[next])
        if (!isCounted[before]) {
          isCounted[before] = true;
          stack.push_back(before);
          for (Threshold &threshold : thresholds)
            if (heads[before] >= threshold.head)
              threshold.work[graph.resources[before]] +=
                  graph.durations[before];
        }
    }
    for (const Threshold &threshold : thresholds)
      for (int64_t work : threshold.work)
        heads[task] = std::max(heads[task], threshold.head + work);
  }

  /// When `tasks` of one resource can be done at the earliest.
  int64_t getEnd(std::vector<int> &tasks) const {
    std::sort(tasks.begin(), tasks.end(), [&](int a, int b) {
      return std::make_pair(heads[a], a) > std::make_pair(heads[b], b);
    });
    int64_t end = 0, sum = 0;
    for (int task : tasks) {
      sum += graph.durations[task];
      end = std::max(end, heads[task] + sum);
    }
    return end;
  }

  const TaskGraph &graph;
  std::vector<int64_t> heads;
  /// The task for which each task was visited last.
  std::vector<int> seen;
  std::vector<std::vector<int>> byResource;
  std::vector<bool> isOnPath, isCounted;
  /// For some heads, what was counted of the tasks with at least that head, by
  /// resource.
  struct Threshold {
    int64_t head;
    std::vector<int64_t> work;
  };
  std::vector<Threshold> thresholds;
};

/// A task of the relaxed problem of one resource.
struct Job {
  int64_t head, duration, tail;
};

/// The length of Jackson's preemptive schedule of one resource.
int64_t getLengthOf(std::vector<Job> jobs) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job &a, const Job &b) { return a.head < b.head; });
  // What has arrived and is not done: longest tail first.
  std::priority_queue<std::pair<int64_t, int>> open;
  int64_t now = 0, length = 0;
  size_t next = 0;
  while (next < jobs.size() || !open.empty()) {
    if (open.empty())
      now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      open.emplace(jobs[next].tail, next);
    Job &job = jobs[open.top().second];
    int64_t step = job.duration;
    if (next < jobs.size())
      step = std::min(step, jobs[next].head - now);
    now += step;
    job.duration -= step;
    if (job.duration == 0) {
      length = std::max(length, now + job.tail);
      open.pop();
    }
  }
  return length;
}

} // namespace

std::vector<int64_t> mlir::weft::computeHeads(const TaskGraph &graph) {
  return HeadComputation(graph).run();
}

int64_t mlir::weft::getPreemptiveLength(const TaskGraph &graph,
                                        const std::vector<int64_t> &heads,
                                        const std::vector<int64_t> &tails) {
  std::vector<std::vector<Job>> jobs(graph.numResources);
  for (int i = 0; i < graph.size(); ++i)
    if (graph.durations[i] > 0)
      jobs[graph.resources[i]].push_back(
          Job{heads[i], graph.durations[i], tails[graph.size() - 1 - i]});
  int64_t length = 0;
  for (std::vector<Job> &ofResource : jobs)
    length = std::max(length, getLengthOf(std::move(ofResource)));
  return length;
}

ScheduleBound mlir::weft::computeLowerBound(const TaskGraph &graph) {
  TaskGraph reversed = graph.reversed();
  ScheduleBound bound;
  for (int i : findLongestPath(graph))
    bound.path += graph.durations[i];
  bound.workAndWaits = computeWorkAndWaits(graph);
  std::vector<int64_t> heads = computeHeads(graph);
  std::vector<int64_t> tails = computeHeads(reversed);
  std::vector<int64_t> work(graph.numResources, 0);
  for (int i = 0; i < graph.size(); ++i)
    work[graph.resources[i]] += graph.durations[i];
  bound.compute = work[0];
  for (int r = 1; r < graph.numResources; ++r)
    bound.link = std::max(bound.link, work[r]);
  bound.headsAndTails = getPreemptiveLength(graph, heads, tails);
  bound.workAndWaits =
      std::max({bound.workAndWaits, computeLengthOfParts(graph, heads),
                computeWorkAndEnds(graph, heads, tails),
                computeWorkAndEnds(reversed, tails, heads)});
  bound.twoPaths = bound.compute + computeIdleOfTwoPaths(graph, reversed, heads,
                                                         tails, bound.get());
  return bound;
}
