// SPDX-License-Identifier: Apache-2.0

// Why the compute stream waits: what was it that kept a collective from
// beginning earlier?

#include "weft/Schedule/Scheduler.h"

#include <algorithm>

using namespace mlir::weft;

const char *mlir::weft::stringifyExposureCause(ExposureCause cause) {
  static const char *const names[] = {"memory", "bandwidth", "dependence",
                                      "order"};
  return names[static_cast<int>(cause)];
}

namespace {

/// When each link is busy.
class BusyTimes {
public:
  BusyTimes(const ScheduleProblem &problem, const ScheduleResult &result)
      : lists(problem.getNumResources()) {
    for (const ScheduleEvent &event : result.events)
      if (event.kind == ScheduleEvent::Start) {
        std::vector<Slice> &list = lists[problem.resource(event.task)];
        int64_t before = list.empty() ? 0 : list.back().sum;
        int64_t begin = result.begin[event.task], end = result.end[event.task];
        list.push_back(Slice{begin, end, before + end - begin});
      }
  }

  /// How much of [from, to) a link is busy.
  int64_t get(int resource, int64_t from, int64_t to) const {
    return getUntil(lists[resource], to) - getUntil(lists[resource], from);
  }

private:
  struct Slice {
    int64_t begin, end;
    /// Of all up to this one.
    int64_t sum;
  };

  static int64_t getUntil(const std::vector<Slice> &list, int64_t time) {
    auto it =
        std::partition_point(list.begin(), list.end(), [&](const Slice &slice) {
          return slice.end <= time;
        });
    int64_t sum = it == list.begin() ? 0 : std::prev(it)->sum;
    if (it != list.end() && it->begin < time)
      sum += time - it->begin;
    return sum;
  }

  std::vector<std::vector<Slice>> lists;
};

} // namespace

std::vector<Exposure>
mlir::weft::explainExposures(const ScheduleProblem &problem,
                             const Schedule &schedule,
                             const Schedule *unlimited) {
  const ScheduleResult &result = schedule.result;
  BusyTimes busy(problem, result);
  auto getCause = [&](int task) {
    if (unlimited && unlimited->result.exposed[task] * 2 < result.exposed[task])
      return ExposureCause::Memory;
    int64_t ready = 0;
    for (int before : problem.predecessors(task))
      ready = std::max(ready, result.end[before]);
    int64_t late = result.begin[task] - ready;
    if (late * 4 <= result.exposed[task])
      return ExposureCause::Dependence;
    int64_t busyBefore =
        busy.get(problem.resource(task), ready, result.begin[task]);
    return busyBefore * 2 >= late ? ExposureCause::Bandwidth
                                  : ExposureCause::Order;
  };
  std::vector<Exposure> exposures;
  for (int i = 0; i < problem.size(); ++i)
    if (result.exposed[i] > 0)
      exposures.push_back(Exposure{i, result.exposed[i], getCause(i)});
  std::stable_sort(exposures.begin(), exposures.end(),
                   [](const Exposure &a, const Exposure &b) {
                     return a.nanoseconds > b.nanoseconds;
                   });
  return exposures;
}
