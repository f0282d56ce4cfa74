// SPDX-License-Identifier: Apache-2.0

// Each link has its part of what may be in flight. It does its collectives in
// the order of their starts, so those of a link are also done in that order.

#include "InFlight.h"

#include <algorithm>
#include <deque>

using namespace mlir::weft;

namespace {

class InFlightLimit {
public:
  InFlightLimit(const ScheduleProblem &problem, int most)
      : problem(problem), links(problem.getNumResources()),
        isWaited(problem.size(), false), ends(problem.size(), 0),
        freeAt(problem.getNumResources(), 0),
        isShared(problem.getNumResources() - 1 > most),
        part(isShared ? most
                      : most / std::max(1, problem.getNumResources() - 1)) {}

  std::vector<ScheduleEvent> run(const std::vector<ScheduleEvent> &events) {
    for (const ScheduleEvent &event : events) {
      int task = event.task;
      if (event.kind == ScheduleEvent::Start)
        linkOf(task).putOff.push_back(task);
      else if (event.kind == ScheduleEvent::Wait)
        waitFor(task);
      for (Link &link : links)
        startSome(link);
      if (event.kind == ScheduleEvent::Compute)
        compute(task);
    }
    return std::move(result);
  }

private:
  /// What is in flight, and what is to be started after that.
  struct Link {
    std::deque<int> inFlight, putOff;
  };

  /// Where there are more links than may be in flight, all are one.
  Link &linkOf(int task) {
    return links[isShared ? 0 : problem.resource(task)];
  }

  void compute(int task) {
    result.push_back({ScheduleEvent::Compute, task});
    now += problem.task(task).duration;
  }

  /// Starts what has room, once what is done has been waited for.
  void startSome(Link &link) {
    while (!link.putOff.empty()) {
      if (static_cast<int>(link.inFlight.size()) == part) {
        if (ends[link.inFlight.front()] > now)
          return;
        wait(link, link.inFlight.begin());
      }
      start(link);
    }
  }

  void start(Link &link) {
    int task = link.putOff.front();
    link.putOff.pop_front();
    link.inFlight.push_back(task);
    result.push_back({ScheduleEvent::Start, task});
    int64_t &free = freeAt[problem.resource(task)];
    ends[task] = free = std::max(now, free) + problem.task(task).duration;
  }

  void wait(Link &link, std::deque<int>::iterator it) {
    int task = *it;
    link.inFlight.erase(it);
    isWaited[task] = true;
    result.push_back({ScheduleEvent::Wait, task});
    now = std::max(now, ends[task]);
  }

  /// What is put off in front of `task` is started first, as soon as there is
  /// room for it: the link does it first anyway.
  void waitFor(int task) {
    if (isWaited[task])
      return;
    Link &link = linkOf(task);
    auto find = [&] {
      return std::find(link.inFlight.begin(), link.inFlight.end(), task);
    };
    auto it = find();
    for (; it == link.inFlight.end(); it = find()) {
      if (static_cast<int>(link.inFlight.size()) == part)
        wait(link, link.inFlight.begin());
      start(link);
    }
    wait(link, it);
  }

  const ScheduleProblem &problem;
  std::vector<Link> links;
  std::vector<bool> isWaited;
  std::vector<int64_t> ends, freeAt;
  /// Whether all links together have one part, and how many that is.
  bool isShared;
  int part;
  int64_t now = 0;
  std::vector<ScheduleEvent> result;
};

} // namespace

std::vector<ScheduleEvent>
mlir::weft::limitInFlight(const ScheduleProblem &problem,
                          const std::vector<ScheduleEvent> &events, int most) {
  return InFlightLimit(problem, most).run(events);
}
