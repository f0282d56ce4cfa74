// SPDX-License-Identifier: Apache-2.0

// The fastest schedules of small problems, found by looking at all of them.

#ifndef WEFT_TEST_UNIT_FASTESTORDER_H
#define WEFT_TEST_UNIT_FASTESTORDER_H

#include "weft/Schedule/Problem.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace mlir::weft::test {

/// The time of the fastest of all orders, each with its waits as late as
/// possible; of those in which the first of each of `pairs` stands in front of
/// the second.
class FastestOrder {
public:
  explicit FastestOrder(const ScheduleProblem &problem,
                        std::vector<std::pair<int, int>> pairs = {})
      : problem(problem), pairs(std::move(pairs)),
        isDone(problem.size(), false), end(problem.size(), 0) {}

  int64_t get() {
    go(0, 0, std::vector<int64_t>(problem.getNumResources(), 0));
    return least;
  }

private:
  void go(int count, int64_t now, const std::vector<int64_t> &freeAt) {
    if (count == problem.size()) {
      for (int64_t one : end)
        now = std::max(now, one);
      least = std::min(least, now);
      return;
    }
    for (int i = 0; i < problem.size(); ++i) {
      bool isReady = !isDone[i];
      int64_t begin = now;
      for (int before : problem.predecessors(i)) {
        isReady = isReady && isDone[before];
        begin = std::max(begin, end[before]);
      }
      for (auto [first, second] : pairs)
        isReady = isReady && (second != i || isDone[first]);
      if (!isReady || begin >= least)
        continue;
      std::vector<int64_t> nextFree = freeAt;
      int64_t &free = nextFree[problem.resource(i)];
      end[i] = free = std::max(begin, free) + problem.task(i).duration;
      isDone[i] = true;
      go(count + 1, problem.task(i).isCollective() ? begin : end[i], nextFree);
      isDone[i] = false;
    }
  }

  const ScheduleProblem &problem;
  std::vector<std::pair<int, int>> pairs;
  std::vector<bool> isDone;
  std::vector<int64_t> end;
  int64_t least = std::numeric_limits<int64_t>::max();
};

/// The time of the fastest of all lines of events that keep to a limit.
class FastestLine {
public:
  FastestLine(const ScheduleProblem &problem, int64_t limit)
      : problem(problem), limit(limit), states(problem.size(), Fresh) {}

  int64_t get() {
    go();
    return least;
  }

private:
  enum State : char { Fresh, Started, Done };

  void go() {
    ScheduleResult result = replay(problem, events);
    if (result.peakBytes > limit || result.time >= least)
      return;
    if (events.size() == size_t(numEvents())) {
      least = result.time;
      return;
    }
    for (int i = 0; i < problem.size(); ++i) {
      bool isCollective = problem.task(i).isCollective();
      if (states[i] == Started)
        append({ScheduleEvent::Wait, i}, Done);
      else if (isReady(i))
        append(
            {isCollective ? ScheduleEvent::Start : ScheduleEvent::Compute, i},
            isCollective ? Started : Done);
    }
  }

  void append(ScheduleEvent event, State next) {
    State before = states[event.task];
    states[event.task] = next;
    events.push_back(event);
    go();
    events.pop_back();
    states[event.task] = before;
  }

  bool isReady(int task) const {
    bool isFresh = states[task] == Fresh;
    for (int before : problem.predecessors(task))
      isFresh = isFresh && states[before] == Done;
    return isFresh;
  }

  int numEvents() const {
    int count = 0;
    for (const ScheduleTask &task : problem.getTasks())
      count += task.isCollective() ? 2 : 1;
    return count;
  }

  const ScheduleProblem &problem;
  int64_t limit;
  std::vector<State> states;
  std::vector<ScheduleEvent> events;
  int64_t least = std::numeric_limits<int64_t>::max();
};

} // namespace mlir::weft::test

#endif // WEFT_TEST_UNIT_FASTESTORDER_H
