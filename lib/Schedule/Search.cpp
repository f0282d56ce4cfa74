// SPDX-License-Identifier: Apache-2.0

// Several priority rules, each improved by scheduling to and fro in time: the
// begins of a schedule that is pushed as late as possible are good priorities
// for the next one (K. Li, R. Willis, "An iterative scheduling technique for
// resource-constrained project scheduling", EJOR 56, 1992).

#include "Search.h"
#include "OrderSearch.h"
#include "SimplePolicies.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <numeric>

using namespace mlir::weft;

/// How often the best schedule is turned round at most.
static constexpr int kMaxRounds = 3;

/// Of schedules that take this many parts in a million longer than the best,
/// the one that needs least memory is taken.
static constexpr int64_t kTolerance = 500;

/// How far work is put off and collectives are started ahead, in layers; 0: as
/// far as it goes.
static constexpr int64_t kReaches[] = {1, 4, 0};

/// By how much work that fills a wait may take longer than it, in percent. What
/// is urgent stands behind it then; but where there is enough else to do, only
/// standing still costs time.
static constexpr int64_t kOverruns[] = {100, 0, 10000};

/// Takes `events` if they are within the limit.
void ScheduleSearch::consider(std::vector<ScheduleEvent> events) {
  ScheduleResult result = replay(problem, std::move(events));
  if (limit > 0 && result.peakBytes > limit)
    return;
  found.push_back(std::move(result));
  const ScheduleResult &now = found.back(), &old = found[fastest];
  if (std::make_pair(now.time, now.peakBytes) <
      std::make_pair(old.time, old.peakBytes))
    fastest = found.size() - 1;
}

void ScheduleSearch::considerList(const ListOptions &options) {
  consider(scheduleList(problem, options));
}

ListOptions ScheduleSearch::getOptions(std::vector<int64_t> keys) const {
  ListOptions options;
  options.keys = std::move(keys);
  options.limit = limit;
  return options;
}

std::vector<int64_t> ScheduleSearch::getProgramOrder() const {
  std::vector<int64_t> keys(problem.size());
  std::iota(keys.begin(), keys.end(), 0);
  return keys;
}

/// What has the longest way to go is first.
std::vector<int64_t> ScheduleSearch::getTails() const {
  std::vector<int64_t> tails = computeHeads(TaskGraph(problem).reversed());
  std::reverse(tails.begin(), tails.end());
  for (int i = 0; i < problem.size(); ++i)
    tails[i] = -tails[i] - problem.task(i).duration;
  return tails;
}

/// About what a layer takes in one pass: the time in which eight weights are
/// gathered or two sums between layers are made.
int64_t ScheduleSearch::getLayerTime() const {
  int64_t gathers = 0, activations = 0;
  for (const ScheduleTask &task : problem.getTasks()) {
    gathers += task.role == TaskRole::Gather;
    activations += task.role == TaskRole::Activation;
  }
  int64_t layers = std::max<int64_t>({gathers / 8, activations / 2, 1});
  return found[fastest].time / layers + 1;
}

/// Says whether more search could only save what is tolerated.
bool ScheduleSearch::isDone() const {
  return found[fastest].time - bound <= bound / 1000000 * kTolerance / 5;
}

void ScheduleSearch::runGreedy() {
  if (found.empty())
    consider(scheduleSync(problem));
  ListOptions options = getOptions(getProgramOrder());
  options.startsEarly = true;
  considerList(options);
}

void ScheduleSearch::runRules() {
  consider(scheduleSync(problem));
  consider(scheduleNextLayer(problem, limit));
  runGreedy();
  mostTime = found[fastest].time;
  considerList(getOptions(getProgramOrder()));
  programBegins = found.back().begin;
  if (!isDone())
    considerList(getOptions(getTails()));
}

/// Schedules to and fro in time, from the fastest schedule.
void ScheduleSearch::improve() {
  ScheduleResult previous = found[fastest];
  std::vector<int64_t> latest = computeLatestBegins(problem, previous);
  int64_t layer = getLayerTime();
  for (int64_t reach : kReaches) {
    ListOptions options = getOptions(latest);
    options.previous = &previous;
    options.lookahead = 2 * reach * layer;
    for (int i = 0; reach > 0 && i < problem.size(); ++i)
      if (!problem.task(i).isCollective())
        options.keys[i] = std::min(latest[i], programBegins[i] + reach * layer);
    for (int64_t overrun : kOverruns) {
      options.overrunPercent = overrun;
      considerList(options);
      if (isDone())
        return;
    }
  }
}

void ScheduleSearch::runBest() {
  runRules();
  for (int round = 0; round < kMaxRounds && !isDone(); ++round) {
    int64_t before = found[fastest].time;
    improve();
    if (found[fastest].time == before)
      break;
  }
  if (!isDone())
    found.push_back(improveOrder(problem, found[fastest], limit, bound));
  if (found.back().time < found[fastest].time)
    fastest = found.size() - 1;
}

ScheduleResult ScheduleSearch::take() {
  int64_t longest = found[fastest].time;
  longest = std::min(longest + longest / 1000000 * kTolerance,
                     std::max(longest, mostTime));
  size_t chosen = fastest;
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].time <= longest &&
        found[i].peakBytes < found[chosen].peakBytes)
      chosen = i;
  return std::move(found[chosen]);
}
