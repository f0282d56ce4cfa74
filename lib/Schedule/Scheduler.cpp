// SPDX-License-Identifier: Apache-2.0

// The policies on one interface, and what is decided around the order: which
// gathers are not repeated, and how little memory will do.

#include "weft/Schedule/Scheduler.h"
#include "EitherPlace.h"
#include "LeanOrder.h"
#include "MemoryProfile.h"
#include "OrderSearch.h"
#include "Search.h"
#include "SimplePolicies.h"

#include <algorithm>
#include <limits>
#include <numeric>

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

/// Memory for so many layers' weights is left to gathers ahead of their use,
/// where the memory is also wanted for data that is kept.
int64_t getBytesAhead(const ScheduleProblem &problem) {
  constexpr int64_t kLayersAhead = 3;
  return kLayersAhead * problem.getLayerBytes();
}

/// The gathers that repeat others, in the order of `key`.
template <typename Key>
std::vector<int> listRepeated(const ScheduleProblem &problem, Key key) {
  std::vector<int> repeated;
  for (int i = 0; i < problem.size(); ++i)
    if (problem.task(i).sameAs >= 0)
      repeated.push_back(i);
  std::stable_sort(repeated.begin(), repeated.end(),
                   [&](int a, int b) { return key(a) < key(b); });
  return repeated;
}

/// Of the gathers of a list, which need not be repeated, as far as program
/// order has the memory to keep what they bring; the first ones first. Empty:
/// none.
std::vector<bool> chooseKept(const ScheduleProblem &problem,
                             const std::vector<int> &repeated, int64_t limit) {
  std::vector<bool> kept(problem.size(), false);
  MemoryProfile profile(problem);
  bool isAny = false;
  for (int i : repeated) {
    kept[i] = profile.keep(problem.task(i).sameAs, i, limit);
    isAny = isAny || kept[i];
  }
  return isAny ? kept : std::vector<bool>();
}

/// Choices of gathers that are not repeated. With memory left over beside the
/// layers that are gathered ahead, those that save most time. And within all of
/// the limit, those that are repeated soonest: what is kept of them takes
/// little more memory than gathering them ahead, and saves the link's time: of
/// large problems that is tried only where a link has more to do than the
/// compute stream.
std::vector<std::vector<bool>> listKept(const ScheduleProblem &problem,
                                        const ScheduleBound &bound,
                                        int64_t limit) {
  constexpr int kMaxTasks = 4000;
  constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();
  std::vector<int> longest =
      listRepeated(problem, [&](int i) { return -problem.task(i).duration; });
  std::vector<int> soonest =
      listRepeated(problem, [&](int i) { return i - problem.task(i).sameAs; });
  std::vector<std::vector<bool>> choices = {
      chooseKept(problem, longest,
                 limit > 0 ? limit - getBytesAhead(problem) : kAnyBytes)};
  if (limit > 0 && (problem.size() <= kMaxTasks || bound.link > bound.compute))
    choices.push_back(chooseKept(problem, soonest, limit));
  choices.erase(
      std::remove(choices.begin(), choices.end(), std::vector<bool>()),
      choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  return choices;
}

std::vector<ScheduleEvent> makeEvents(const ScheduleProblem &problem,
                                      const ScheduleOptions &options,
                                      int64_t bound) {
  if (options.policy == SchedulePolicy::Sync)
    return scheduleSync(problem);
  if (options.policy == SchedulePolicy::NextLayer)
    return sinkWaits(problem, scheduleNextLayer(problem, options.memoryLimit));
  ScheduleSearch search(problem, options.memoryLimit, bound);
  if (options.policy == SchedulePolicy::Greedy)
    search.runGreedy();
  else if (options.isQuick)
    search.runRules();
  else
    search.runBest();
  return sinkWaits(problem, search.take().events);
}

/// Waits where nothing but memory needs it are lost time that looks as if it
/// were the collective's own: where memory allows, none is left.
ScheduleResult replaySunk(const ScheduleProblem &problem,
                          const ScheduleOptions &options,
                          std::vector<ScheduleEvent> events) {
  ScheduleResult result = replay(problem, std::move(events));
  ScheduleResult sunk =
      replay(problem, sinkWaits(problem, result.events, /*mayHold=*/true));
  int64_t most =
      options.memoryLimit > 0 ? options.memoryLimit : result.peakBytes;
  return sunk.peakBytes <= most && sunk.time <= result.time ? sunk : result;
}

ScheduleResult makeResult(const ScheduleProblem &problem,
                          const ScheduleOptions &options, int64_t bound) {
  std::vector<ScheduleEvent> events = makeEvents(problem, options, bound);
  return options.policy == SchedulePolicy::Sync
             ? replay(problem, std::move(events))
             : replaySunk(problem, options, std::move(events));
}

/// The schedule of the problem as it is, whose program order is within the
/// limit.
Schedule scheduleAll(const ScheduleProblem &problem,
                     const ScheduleOptions &options) {
  Schedule schedule;
  schedule.kept.assign(problem.size(), false);
  bool isSearched = options.policy != SchedulePolicy::Sync && !options.isQuick;
  if (options.isBrief && !isSearched)
    schedule.bound.compute = problem.getComputeTime();
  else
    schedule.bound = computeLowerBound(problem);
  // A quick search finds the same whether all bounds are made or not.
  schedule.result = makeResult(problem, options,
                               options.isQuick ? schedule.bound.compute
                                               : schedule.bound.get());
  return schedule;
}

/// Without a limit: the same time with less memory, if there is a schedule that
/// starts collectives only some layers ahead.
void saveMemory(const ScheduleProblem &problem, Schedule &schedule,
                int64_t leastBytes) {
  ScheduleOptions lean;
  lean.memoryLimit = leastBytes + getBytesAhead(problem);
  if (schedule.result.peakBytes <= lean.memoryLimit)
    return;
  ScheduleResult result = makeResult(problem, lean, schedule.bound.get());
  if (result.time <= schedule.result.time)
    schedule.result = std::move(result);
}

/// The schedule whose program order, `least`, is within the limit.
Schedule scheduleInOrder(const ScheduleProblem &problem,
                         const ScheduleOptions &options,
                         const ScheduleResult &least) {
  int64_t limit = options.memoryLimit;
  Schedule schedule = scheduleAll(problem, options);
  if (options.policy != SchedulePolicy::Best || options.isQuick)
    return schedule;
  if (limit == 0)
    saveMemory(problem, schedule, least.peakBytes);
  // Without a limit gathers are kept only where that saves much time: not
  // where there is little but computation.
  constexpr int64_t kWorth = 2000;
  int64_t worth = limit == 0 ? schedule.result.time / kWorth + 1 : 0;
  if (schedule.result.time - schedule.bound.compute < worth)
    return schedule;
  Schedule best = schedule;
  for (std::vector<bool> &kept : listKept(problem, schedule.bound, limit)) {
    Schedule fewer = scheduleAll(problem.keepGathers(kept), options);
    if (schedule.result.time - fewer.result.time < worth ||
        best.result.time < fewer.result.time)
      continue;
    fewer.kept = std::move(kept);
    best = std::move(fewer);
  }
  return best;
}

/// `schedule` with task `order[i]` for each task i.
void renumber(const std::vector<int> &order, Schedule &schedule) {
  ScheduleResult &result = schedule.result;
  for (ScheduleEvent &event : result.events)
    event.task = order[event.task];
  auto permute = [&](auto &list) {
    auto old = list;
    for (size_t i = 0; i < order.size(); ++i)
      list[order[i]] = old[i];
  };
  permute(result.begin);
  permute(result.end);
  permute(result.exposed);
  permute(schedule.kept);
}

/// Without an order that is within the limit: the one that needs least.
Schedule makeTooLarge(const ScheduleProblem &problem, ScheduleResult least) {
  Schedule schedule;
  schedule.kept.assign(problem.size(), false);
  schedule.result = std::move(least);
  schedule.fits = false;
  return schedule;
}

} // namespace

/// Says whether another order than the program's could have more memory for
/// what is ahead, where `inOrder` is the schedule that follows the program's.
static bool isWorthLeanOrder(const ScheduleProblem &problem,
                             const ScheduleOptions &options,
                             const Schedule &inOrder, int64_t leastBytes) {
  constexpr int kMaxTasks = 1000;
  constexpr int64_t kWorth = 10000;
  if (options.policy != SchedulePolicy::Best || options.isQuick ||
      options.memoryLimit == 0 ||
      inOrder.getAvoidableTime() <= inOrder.bound.get() / kWorth)
    return false;
  // Of long steps, where little memory is to spare.
  return (problem.size() <= kMaxTasks &&
          options.memoryLimit / 2 < leastBytes) ||
         leastBytes + getBytesAhead(problem) > options.memoryLimit;
}

/// Says whether `schedule` may be slower than it has to be by more than is
/// tolerated, and more search has a chance.
static bool isWorthMore(const ScheduleProblem &problem,
                        const ScheduleOptions &options,
                        const Schedule &schedule) {
  // Of large steps only what misses 1 % of the bound, or of what can be hidden.
  constexpr int kMaxTasks = 1000, kMaxLarge = 2000;
  bool isLarge = problem.size() > kMaxTasks;
  int64_t worth = isLarge ? 100 : 1000, hideableWorth = isLarge ? 100 : 200;
  return options.policy == SchedulePolicy::Best && options.isThorough &&
         !options.isQuick && schedule.fits && problem.size() <= kMaxLarge &&
         schedule.getAvoidableTime() >
             std::min(schedule.bound.get() / worth,
                      schedule.getHideableTime(
                          getScheduledProblem(problem, schedule)) /
                          hideableWorth);
}

/// Looks longer at how fast a schedule could be: this one may be the best. Less
/// long where memory may be what it waits for, which no bound sees.
static void raiseBound(const ScheduleProblem &scheduled,
                       const ScheduleOptions &options, Schedule &schedule) {
  constexpr int64_t kEffort = 100000, kLimitedPart = 32;
  bool isLimited =
      options.memoryLimit > 0 && scheduled.getMostBytes() > options.memoryLimit;
  raiseByEitherOrder(scheduled, schedule.result.time,
                     isLimited ? kEffort / kLimitedPart : kEffort,
                     schedule.bound);
}

/// Searches longer.
static void anneal(const ScheduleProblem &scheduled,
                   const ScheduleOptions &options, Schedule &schedule) {
  ScheduleResult result = annealOrder(
      scheduled, schedule.result, options.memoryLimit, schedule.bound.get());
  result = replaySunk(scheduled, options, sinkWaits(scheduled, result.events));
  if (result.time < schedule.result.time)
    schedule.result = std::move(result);
}

/// Says whether the program order of a problem is within the limit: a search
/// within one needs that, and keeps to it.
static bool fitsInOrder(const ScheduleProblem &problem,
                        const ScheduleOptions &options) {
  return options.memoryLimit == 0 ||
         replay(problem, scheduleSync(problem)).peakBytes <=
             options.memoryLimit;
}

/// Takes the events of a problem whose task i is `order[i]` of `scheduled`, if
/// they are faster. Says whether they are.
static bool takeFaster(const ScheduleProblem &scheduled,
                       const ScheduleOptions &options,
                       const std::vector<int> &order,
                       std::vector<ScheduleEvent> events, Schedule &schedule) {
  for (ScheduleEvent &event : events)
    event.task = order[event.task];
  ScheduleResult result = replaySunk(scheduled, options, std::move(events));
  bool isFaster = result.time < schedule.result.time;
  if (isFaster)
    schedule.result = std::move(result);
  return isFaster;
}

/// Searches the first of parts, if there is one.
static void searchFirst(const ScheduleProblem &scheduled,
                        const ScheduleOptions &options,
                        const std::vector<SchedulePart> &parts, bool isWide,
                        Schedule &schedule) {
  if (parts.empty())
    return;
  const auto &[precedences, bound] = parts.front();
  std::vector<int> order = orderTasks(TaskGraph(scheduled), precedences);
  ScheduleProblem part = scheduled.reordered(order, precedences);
  ScheduleResult result = makeResult(part, options, bound);
  result = annealOrder(part, result, options.memoryLimit, bound, isWide);
  takeFaster(scheduled, options, order, sinkWaits(part, result.events),
             schedule);
}

/// Says whether `schedule` is above its bound by more than some percent of
/// that, or of what can be hidden; 1 % is the bar.
static bool missesBar(const ScheduleProblem &scheduled,
                      const Schedule &schedule, int64_t percent = 1) {
  return schedule.getAvoidableTime() >
         std::min(schedule.bound.get(), schedule.getHideableTime(scheduled)) /
             100 * percent;
}

/// The bound that parts of all schedules say. Those of which none is faster
/// than some time are often proven to be none sooner if that time is less: what
/// is in time keeps to more then. So the time is halved towards the bound, as
/// long as there is effort left: of many tasks a single part may take more.
static int64_t getBoundOfParts(const TaskGraph &graph, int64_t bound,
                               int64_t time, int64_t effort) {
  constexpr int kNumTimes = 6;
  int64_t most = time;
  int64_t left = effort;
  for (int i = 0; i < kNumTimes && left > 0 && most - bound > 1; ++i) {
    int64_t enough = bound + (most - bound) / 2, part = effort / kNumTimes;
    left -= part;
    std::vector<SchedulePart> parts =
        splitSchedules(graph, bound, enough, part);
    left += part;
    if (parts.empty()) {
      bound = enough;
    } else {
      bound = std::max(bound, parts.front().bound);
      most = enough;
    }
  }
  return bound;
}

/// Splits the schedules that take less than `enough` by the places of what is
/// beside the longest path: none is faster than the least bound of the parts.
static std::vector<SchedulePart> splitBelow(const TaskGraph &graph,
                                            int64_t enough, int64_t effort,
                                            Schedule &schedule) {
  std::vector<SchedulePart> parts =
      splitSchedules(graph, schedule.bound.get(), enough, effort);
  schedule.bound.workAndWaits =
      std::max(schedule.bound.workAndWaits,
               parts.empty() ? enough : parts.front().bound);
  return parts;
}

/// Looks at parts of all schedules, and then of those that are faster by half
/// of what is above the bound: another part may have the least bound of these,
/// and orders that differ in much are in others. The search may find more where
/// it keeps to that part. Where memory matters, only at the bound, with less
/// effort: many schedules are made then, and of more than some tasks the first
/// split takes much more. Of more than a few tasks so little is won that what
/// is far from the bar is left as it is.
static void tryParts(const ScheduleProblem &scheduled,
                     const ScheduleOptions &options, Schedule &schedule) {
  constexpr int kMaxTasks = 1000, kMaxLimited = 600, kFewTasks = 100;
  constexpr int64_t kEffort = 10000, kLimitedPart = 8, kFasterPart = 6,
                    kNear = 10;
  bool isLimited =
      options.memoryLimit > 0 && options.memoryLimit < scheduled.getMostBytes();
  if (scheduled.size() > kMaxTasks)
    return;
  TaskGraph graph(scheduled);
  schedule.bound.workAndWaits =
      std::max(schedule.bound.workAndWaits,
               computeWeightedPath(graph, schedule.result.time));
  if ((isLimited && scheduled.size() > kMaxLimited) ||
      (scheduled.size() > kFewTasks && missesBar(scheduled, schedule, kNear)))
    return;
  std::vector<SchedulePart> parts =
      splitBelow(graph, schedule.result.time,
                 isLimited ? kEffort / kLimitedPart : kEffort, schedule);
  if (isLimited || !missesBar(scheduled, schedule))
    return;
  searchFirst(scheduled, options, parts, /*isWide=*/true, schedule);
  if (!missesBar(scheduled, schedule))
    return;
  int64_t bound = schedule.bound.get();
  parts = splitBelow(graph, bound + (schedule.result.time - bound) / 2,
                     kEffort / kFasterPart, schedule);
  searchFirst(scheduled, options, parts, /*isWide=*/false, schedule);
  if (missesBar(scheduled, schedule))
    schedule.bound.workAndWaits =
        std::max(schedule.bound.workAndWaits,
                 getBoundOfParts(graph, schedule.bound.get(),
                                 schedule.result.time, kEffort));
}

/// The longest computation that fits into no wait and leads to none; -1 if
/// there is none.
static int findLongest(const ScheduleProblem &problem) {
  std::vector<bool> isLong = findLong(problem);
  int longest = -1;
  for (int i = 0; i < problem.size(); ++i)
    if (isLong[i] && (longest < 0 || problem.task(i).duration >
                                         problem.task(longest).duration))
      longest = i;
  return longest;
}

/// Where no wait is long enough for the longest computation, and not all parts
/// of the schedules are searched: those with it in one place each, from the
/// last place on, until a few are no faster. No single move leads from one
/// place to another.
static void tryPlaces(const ScheduleProblem &problem,
                      const ScheduleOptions &options, Schedule &schedule) {
  constexpr int kFewTasks = 100, kMaxParts = 1000, kMaxTasks = 8000,
                kPatience = 2;
  bool isLimited =
      options.memoryLimit > 0 && options.memoryLimit < problem.getMostBytes();
  if (options.policy != SchedulePolicy::Best || !options.isThorough ||
      options.isQuick || !schedule.fits || problem.size() > kMaxTasks ||
      problem.size() <= (isLimited ? kFewTasks : kMaxParts))
    return;
  ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
  int longest = findLongest(scheduled);
  if (longest < 0 || !missesBar(scheduled, schedule))
    return;
  TaskGraph graph(scheduled);
  Places places = listPlacesOf(graph, longest);
  if (places.size() == 1)
    return;
  for (int stale = 0; !places.empty() && stale < kPatience; places.pop_back()) {
    std::vector<int> order = orderTasks(graph, places.back());
    ScheduleProblem part = scheduled.reordered(order, places.back());
    bool isFaster =
        fitsInOrder(part, options) &&
        takeFaster(scheduled, options, order,
                   makeResult(part, options, schedule.bound.get()).events,
                   schedule);
    stale = isFaster ? 0 : stale + 1;
  }
}

/// Program order with what is long and leads to no exchange as late as it can
/// be. Empty: that is program order.
static std::vector<int> putOffLong(const ScheduleProblem &problem) {
  std::vector<bool> isLong = findLong(problem);
  // In front of each task, those that are put off until then, and itself.
  std::vector<std::vector<int>> parts(problem.size() + 1);
  bool isChanged = false;
  for (int i = 0; i < problem.size(); ++i) {
    int at = isLong[i] ? problem.size() : i;
    for (int next : problem.successors(i))
      at = isLong[i] ? std::min(at, next) : at;
    isChanged = isChanged || at > i + 1;
    parts[at].push_back(i);
  }
  std::vector<int> order;
  for (const std::vector<int> &part : parts)
    order.insert(order.end(), part.begin(), part.end());
  return isChanged ? order : std::vector<int>();
}

/// `schedule`, or one that puts off what is long, if that is faster: where
/// memory is short all must be able to follow in program order, which may have
/// it early.
static Schedule tryPutOff(const ScheduleProblem &problem,
                          const ScheduleOptions &options, Schedule schedule) {
  constexpr int64_t kWorth = 1000;
  if (options.policy != SchedulePolicy::Best || options.isQuick ||
      options.memoryLimit == 0 ||
      options.memoryLimit >= problem.getMostBytes() ||
      schedule.getAvoidableTime() <= schedule.bound.get() / kWorth)
    return schedule;
  bool hasExchanges = std::any_of(
      problem.getTasks().begin(), problem.getTasks().end(),
      [](const ScheduleTask &t) { return t.role == TaskRole::Activation; });
  std::vector<int> order =
      hasExchanges ? putOffLong(problem) : std::vector<int>();
  if (order.empty())
    return schedule;
  ScheduleProblem late = problem.reordered(order);
  ScheduleResult inOrder = replay(late, scheduleSync(late));
  if (inOrder.peakBytes > options.memoryLimit)
    return schedule;
  Schedule other = scheduleInOrder(late, options, inOrder);
  renumber(order, other);
  return other.result.time < schedule.result.time ? other : schedule;
}

static Schedule chooseSchedule(const ScheduleProblem &problem,
                               const ScheduleOptions &options) {
  int64_t limit = options.memoryLimit;
  ScheduleResult least = replay(problem, scheduleSync(problem));
  bool fits = limit == 0 || least.peakBytes <= limit;
  Schedule inOrder;
  if (fits && !options.isLean) {
    inOrder =
        tryPutOff(problem, options, scheduleInOrder(problem, options, least));
    if (!isWorthLeanOrder(problem, options, inOrder, least.peakBytes))
      return inOrder;
  }
  KnownSchedules own;
  KnownSchedules &known = options.known ? *options.known : own;
  const std::vector<int> &order = known.getLeanOrder(problem);
  ScheduleProblem lean = problem.reordered(order);
  ScheduleResult leaner = replay(lean, scheduleSync(lean));
  if (fits && leaner.peakBytes >= least.peakBytes)
    return options.isLean ? scheduleInOrder(problem, options, least) : inOrder;
  Schedule schedule = limit == 0 || leaner.peakBytes <= limit
                          ? scheduleInOrder(lean, options, leaner)
                          : makeTooLarge(lean, std::move(leaner));
  renumber(order, schedule);
  return fits && !options.isLean && inOrder.result.time <= schedule.result.time
             ? inOrder
             : schedule;
}

/// Looks for it, whatever is known.
static Schedule searchSchedule(const ScheduleProblem &problem,
                               const ScheduleOptions &options) {
  Schedule schedule = chooseSchedule(problem, options);
  tryPlaces(problem, options, schedule);
  if (!isWorthMore(problem, options, schedule))
    return schedule;
  ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
  raiseBound(scheduled, options, schedule);
  if (isWorthMore(problem, options, schedule))
    anneal(scheduled, options, schedule);
  if (missesBar(scheduled, schedule))
    tryParts(scheduled, options, schedule);
  return schedule;
}

Schedule mlir::weft::makeSchedule(const ScheduleProblem &problem,
                                  const ScheduleOptions &options) {
  // Other policies take no time, and of large problems few are scheduled.
  constexpr int kMaxTasks = 8000;
  bool isSearched = options.policy == SchedulePolicy::Best && !options.isQuick;
  if (!isSearched || !options.known || problem.size() > kMaxTasks)
    return searchSchedule(problem, options);
  auto [schedule, isNew] = options.known->addSchedule(problem, options);
  if (isNew)
    schedule = searchSchedule(problem, options);
  return schedule;
}

/// `bound`, or a higher one that holds where some bytes are the limit.
static int64_t raiseWithin(const ScheduleProblem &problem, int64_t limit,
                           int64_t bound) {
  return std::max({bound, computeWorkAndWaitsWithin(problem, limit),
                   computeLengthOfPartsWithin(problem, limit)});
}

/// The bound of schedules of `problem` that take less than `time`, or that.
static int64_t computeBoundBelow(const ScheduleProblem &problem, int64_t time) {
  constexpr int kMaxTasks = 1000;
  constexpr int64_t kEffort = 10000;
  int64_t bound = computeLowerBound(problem).get();
  if (problem.size() > kMaxTasks || bound >= time)
    return bound;
  TaskGraph graph(problem);
  bound = std::max(bound, computeWeightedPath(graph, time));
  int64_t effort = kEffort;
  std::vector<SchedulePart> parts = splitSchedules(graph, bound, time, effort);
  bound = std::max(bound, parts.empty() ? time : parts.front().bound);
  return getBoundOfParts(graph, bound, time, kEffort);
}

int64_t mlir::weft::getBoundWithin(const ScheduleProblem &problem,
                                   const Schedule &schedule, int64_t limit) {
  constexpr int kMaxTasks = 8000;
  ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
  int64_t bound = schedule.bound.get(), time = schedule.result.time;
  limit = std::max(limit, schedule.result.peakBytes);
  if (scheduled.getMostBytes() <= limit)
    return bound;
  bound = raiseWithin(scheduled, limit, bound);
  Precedences known = scheduled.size() <= kMaxTasks && bound < time
                          ? findOrderWithin(scheduled, limit)
                          : Precedences();
  if (known.empty())
    return bound;
  ScheduleProblem ordered =
      scheduled.reordered(orderTasks(TaskGraph(scheduled), known), known);
  bound = std::max(bound, computeBoundBelow(ordered, time));
  return raiseWithin(ordered, limit, bound);
}
