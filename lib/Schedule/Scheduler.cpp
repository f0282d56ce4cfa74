// SPDX-License-Identifier: Apache-2.0

// The policies on one interface, and the search for the best schedule: several
// priority rules, each improved by scheduling to and fro in time.

#include "weft/Schedule/Scheduler.h"
#include "ListScheduler.h"
#include "SimplePolicies.h"

#include <algorithm>

using namespace mlir::weft;

static const char *const policyNames[] = {"sync", "next-layer", "greedy",
                                          "best"};

const char *mlir::weft::stringifySchedulePolicy(SchedulePolicy policy) {
  return policyNames[static_cast<int>(policy)];
}

std::optional<SchedulePolicy>
mlir::weft::symbolizeSchedulePolicy(const std::string &name) {
  for (int i = 0; i < 4; ++i)
    if (name == policyNames[i])
      return static_cast<SchedulePolicy>(i);
  return std::nullopt;
}

int64_t Schedule::getAvoidableTime() const {
  return std::max<int64_t>(0, result.time - bound.get());
}

int64_t Schedule::getHideableTime(const ScheduleProblem &problem) const {
  int64_t forced = std::max<int64_t>(0, bound.get() - bound.compute);
  return std::max<int64_t>(0, problem.getCommunicationTime() - forced);
}

namespace {

/// How often the best schedule is turned round, and how little less time
/// counts.
constexpr int kMaxRounds = 4;

/// Searches for the best schedule under one limit.
class Search {
public:
  Search(const ScheduleProblem &problem, int64_t limit)
      : problem(problem), limit(limit) {}

  /// Takes `events` if they are better than what was found so far.
  bool consider(std::vector<ScheduleEvent> events) {
    ScheduleResult result = replay(problem, std::move(events));
    if (limit > 0 && result.peakBytes > limit)
      return false;
    bool isBetter =
        !found || result.time < best.time ||
        (result.time == best.time && result.peakBytes < best.peakBytes);
    if (isBetter)
      best = std::move(result);
    found = true;
    return isBetter;
  }

  bool considerList(std::vector<int64_t> keys, int64_t overrunPercent,
                    bool startsEarly = false) {
    ListOptions options;
    options.keys = std::move(keys);
    options.limit = limit;
    options.overrunPercent = overrunPercent;
    options.startsEarly = startsEarly;
    return consider(scheduleList(problem, options));
  }

  std::vector<int64_t> getProgramOrder() const {
    std::vector<int64_t> keys(problem.size());
    for (int i = 0; i < problem.size(); ++i)
      keys[i] = i;
    return keys;
  }

  /// What has the longest way to go is first.
  std::vector<int64_t> getTails() const {
    TaskGraph graph(problem);
    std::vector<int64_t> tails = computeHeads(graph.reversed());
    std::reverse(tails.begin(), tails.end());
    for (int i = 0; i < problem.size(); ++i)
      tails[i] = -tails[i] - problem.task(i).duration;
    return tails;
  }

  bool isDone(int64_t bound) const { return found && best.time <= bound; }

  /// Schedules to and fro in time until it no longer helps.
  void improve(int64_t bound) {
    for (int round = 0; round < kMaxRounds && !isDone(bound); ++round) {
      std::vector<int64_t> keys = computeLatestBegins(problem, best);
      bool isBetter = considerList(keys, 100);
      isBetter |= !isDone(bound) && considerList(std::move(keys), 0);
      if (!isBetter)
        return;
    }
  }

  void run(int64_t bound) {
    consider(scheduleSync(problem));
    consider(scheduleNextLayer(problem, limit));
    considerList(getProgramOrder(), 100, /*startsEarly=*/true);
    considerList(getProgramOrder(), 100);
    if (!isDone(bound))
      considerList(getTails(), 100);
    improve(bound);
  }

  ScheduleResult take() { return std::move(best); }

private:
  const ScheduleProblem &problem;
  int64_t limit;
  bool found = false;
  ScheduleResult best;
};

std::vector<ScheduleEvent> makeEvents(const ScheduleProblem &problem,
                                      const ScheduleOptions &options,
                                      int64_t bound) {
  switch (options.policy) {
  case SchedulePolicy::Sync:
    return scheduleSync(problem);
  case SchedulePolicy::NextLayer:
    return scheduleNextLayer(problem, options.memoryLimit);
  case SchedulePolicy::Greedy: {
    Search search(problem, options.memoryLimit);
    search.considerList(search.getProgramOrder(), 100, /*startsEarly=*/true);
    return search.take().events;
  }
  case SchedulePolicy::Best: {
    Search search(problem, options.memoryLimit);
    search.run(bound);
    return search.take().events;
  }
  }
  return {};
}

} // namespace

Schedule mlir::weft::makeSchedule(const ScheduleProblem &problem,
                                  const ScheduleOptions &options) {
  Schedule schedule;
  schedule.kept.assign(problem.size(), false);
  schedule.bound = computeLowerBound(problem);
  schedule.result = replay(problem, scheduleSync(problem));
  schedule.fits = options.memoryLimit == 0 ||
                  schedule.result.peakBytes <= options.memoryLimit;
  if (!schedule.fits)
    return schedule;
  std::vector<ScheduleEvent> events =
      makeEvents(problem, options, schedule.bound.get());
  if (options.policy != SchedulePolicy::Sync)
    events = sinkWaits(problem, events);
  schedule.result = replay(problem, std::move(events));
  return schedule;
}
