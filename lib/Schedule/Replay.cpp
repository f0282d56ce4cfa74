// SPDX-License-Identifier: Apache-2.0

// Executes a line of events by the rules of the runtime, and counts time and
// memory. Policies only propose lines; this is what judges them.

#include "LiveBytes.h"

#include <algorithm>
#include <numeric>

using namespace mlir::weft;

int64_t ScheduleResult::getExposedTime() const {
  return std::accumulate(exposed.begin(), exposed.end(), int64_t(0));
}

ScheduleResult mlir::weft::replay(const ScheduleProblem &problem,
                                  std::vector<ScheduleEvent> events) {
  ScheduleResult result;
  result.begin.assign(problem.size(), 0);
  result.end.assign(problem.size(), 0);
  result.exposed.assign(problem.size(), 0);
  result.peakBytes = problem.fixedBytes;
  std::vector<int64_t> freeAt(problem.getNumResources(), 0);
  LiveBytes live(problem);
  int64_t now = 0;
  for (int i = 0, e = events.size(); i < e; ++i) {
    int task = events[i].task;
    if (events[i].kind == ScheduleEvent::Wait) {
      result.exposed[task] = std::max<int64_t>(0, result.end[task] - now);
      now += result.exposed[task];
      live.release(task);
      continue;
    }
    int64_t bytes = live.allocate(task);
    if (bytes > result.peakBytes) {
      result.peakBytes = bytes;
      result.peakEvent = i;
    }
    // The compute stream is free now, whatever it is that comes next.
    int64_t &free = freeAt[problem.resource(task)];
    result.begin[task] = std::max(now, free);
    result.end[task] = free = result.begin[task] + problem.task(task).duration;
    if (events[i].kind == ScheduleEvent::Compute) {
      now = result.end[task];
      live.release(task);
    }
  }
  result.time = now;
  result.events = std::move(events);
  return result;
}

const char *mlir::weft::findFault(const ScheduleProblem &problem,
                                  const std::vector<ScheduleEvent> &events) {
  enum State : char { Fresh, Started, Done };
  std::vector<State> states(problem.size(), Fresh);
  for (const ScheduleEvent &event : events) {
    if (event.kind == ScheduleEvent::Wait) {
      if (states[event.task] != Started)
        return "a wait for what is not under way";
      states[event.task] = Done;
      continue;
    }
    if (states[event.task] != Fresh)
      return "a task that is run twice";
    bool isStart = event.kind == ScheduleEvent::Start;
    if (isStart != problem.task(event.task).isCollective())
      return "a collective that is computed, or a computation that is started";
    for (int before : problem.predecessors(event.task))
      if (states[before] != Done)
        return "a task before one that it depends on";
    states[event.task] = isStart ? Started : Done;
  }
  for (State state : states)
    if (state != Done)
      return "a task that is not done at the end";
  return "";
}

std::vector<int>
mlir::weft::getLiveBuffers(const ScheduleProblem &problem,
                           const std::vector<ScheduleEvent> &events,
                           int event) {
  LiveBytes live(problem);
  for (int i = 0; i <= event; ++i) {
    int task = events[i].task;
    if (events[i].kind != ScheduleEvent::Wait)
      live.allocate(task);
    if (i < event && events[i].kind != ScheduleEvent::Start)
      live.release(task);
  }
  std::vector<int> buffers;
  for (int i = 0, e = problem.getBuffers().size(); i < e; ++i)
    if (live.getAlive()[i])
      buffers.push_back(i);
  std::stable_sort(buffers.begin(), buffers.end(), [&](int a, int b) {
    return problem.getBuffers()[a].bytes > problem.getBuffers()[b].bytes;
  });
  return buffers;
}
