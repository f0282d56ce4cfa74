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
#include <array>
#include <numeric>

using namespace mlir::weft;

/// Where the best is more than one part in so many above the bound, it is worth
/// to look for others; and where that is more than one part in so many of the
/// communication.
static constexpr int64_t kWorth = 1000, kCommunicationWorth = 200;

/// How often the best schedule is turned round at most.
static constexpr int kMaxRounds = 3;

/// Of schedules that take this many parts in a million longer than the best,
/// the one that needs least memory is taken, unless that is this many parts in
/// a thousand of the communication.
static constexpr int64_t kTolerance = 500, kCommunicationTolerance = 1;

/// What takes no more than one part in so many of all computations is short,
/// and more than one part in so many of the limit large.
static constexpr int64_t kShort = 10000, kLarge = 200;

/// Problems of up to so many tasks are searched from several starts.
static constexpr int kMaxStarted = 1000;

/// How far work is put off and collectives are started ahead, in layers; 0: as
/// far as it goes.
static constexpr int64_t kReaches[] = {1, 4, 0};

/// By how much work that fills a wait may take longer than it, in percent. What
/// is urgent stands after it then; but where there is enough else to do, only
/// standing still costs time.
static constexpr int64_t kOverruns[] = {100, 0, 10000};

/// Layers of weights for which gathers leave memory to computations, and layers
/// that what takes memory is computed ahead.
static constexpr std::array<int64_t, 3> kLayersOfSpare = {0, 1, 2},
                                        kLayersAhead = {1, 4, 16};

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
  ListOptions options = style;
  options.keys = std::move(keys);
  options.limit = limit;
  for (auto [task, after] : freeing)
    options.keys[task] = std::min(options.keys[task], options.keys[after]);
  return options;
}

/// Finds short computations that free more than they make, and after what that
/// they read each of them can be done at once: where memory is short they would
/// otherwise hold it for long, since nothing else needs them.
void ScheduleSearch::findFreeing() {
  int64_t longest = problem.getComputeTime() / kShort;
  for (int i = 0; i < problem.size(); ++i) {
    if (problem.task(i).isCollective() || problem.task(i).duration > longest)
      continue;
    int64_t bytes = 0;
    for (int output : problem.outputs(i))
      bytes -= problem.getBuffers()[output].bytes;
    for (int input : problem.inputs(i))
      if (problem.getBuffers()[input].readers.size() == 1)
        bytes += problem.getBuffers()[input].bytes;
    Adjacency::Range before = problem.predecessors(i);
    if (bytes > limit / kLarge && !before.empty())
      freeing.emplace_back(i, *std::max_element(before.begin(), before.end()));
  }
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

/// What can begin first is first, so that parts of a step that do not need each
/// other, as microbatches, go side by side.
std::vector<int64_t> ScheduleSearch::getHeads() const {
  return computeHeads(TaskGraph(problem));
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
  int64_t tolerated =
      std::min(bound / 1000000 * kTolerance / 5,
               problem.getCommunicationTime() / (5 * kCommunicationWorth));
  return found[fastest].time - bound <= tolerated;
}

bool ScheduleSearch::isWorthMore() const {
  return found[fastest].time - bound >
         std::min(bound / kWorth,
                  problem.getCommunicationTime() / kCommunicationWorth);
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

/// Schedules to and fro in time, from a schedule that was found.
void ScheduleSearch::improve(size_t from) {
  ScheduleResult previous = found[from];
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

/// As long as that helps. Returns the fastest of what comes of it.
size_t ScheduleSearch::improveFrom(size_t best) {
  for (int round = 0; round < kMaxRounds && !isDone(); ++round) {
    size_t before = best, first = found.size();
    improve(best);
    for (size_t i = first; i < found.size(); ++i)
      if (found[i].time < found[best].time)
        best = i;
    if (best == before)
      break;
  }
  return best;
}

/// Ways to keep the busiest link busy. With a limit, what is computed ahead
/// takes memory that gathers could have, and gathers what is computed has to
/// have.
std::vector<ListOptions>
ScheduleSearch::getFeedingStyles(ListOptions style) const {
  style.keepsLinkBusy = true;
  if (limit == 0)
    return {style};
  std::vector<ListOptions> styles;
  for (int64_t ahead : kLayersAhead)
    for (int64_t layers : kLayersOfSpare) {
      style.ahead = ahead * getLayerTime();
      style.spareBytes = layers * problem.getLayerBytes();
      styles.push_back(style);
    }
  return styles;
}

std::vector<bool> mlir::weft::findLong(const ScheduleProblem &problem) {
  std::vector<bool> leadsOn(problem.size(), false), isLong = leadsOn;
  int64_t longest = 0;
  for (int i = problem.size(); i-- > 0;) {
    const ScheduleTask &task = problem.task(i);
    if (task.role == TaskRole::Activation) {
      leadsOn[i] = true;
      longest = std::max(longest, task.duration);
    }
    for (int next : problem.successors(i))
      leadsOn[i] = leadsOn[i] || leadsOn[next];
  }
  for (int i = 0; i < problem.size(); ++i)
    isLong[i] = !leadsOn[i] && !problem.task(i).isCollective() &&
                problem.task(i).duration > longest;
  return isLong;
}

/// The same keys, but what is long comes last.
std::vector<int64_t>
ScheduleSearch::putOffLong(std::vector<int64_t> keys) const {
  std::vector<bool> isLong = findLong(problem);
  for (int i = 0; i < problem.size(); ++i)
    if (isLong[i])
      keys[i] = 0;
  return keys;
}

/// Schedules in which the busiest link is kept busy, and what comes of the
/// fastest of each kind: the fastest of all mostly is not what leads furthest.
/// None that is within the limit: nothing.
std::vector<size_t> ScheduleSearch::improveFeeding() {
  // Of what is done before a link's work that work counts, not how long it
  // takes itself; but where links are not short of work, that does as well.
  std::vector<int64_t> tails = getTails(), tailsAfter = tails;
  for (int i = 0; i < problem.size(); ++i)
    tailsAfter[i] += problem.task(i).duration;
  std::vector<std::vector<std::vector<int64_t>>> kinds = {{tails, tailsAfter}};
  if (std::vector<int64_t> last = putOffLong(tails); last != tails)
    kinds.push_back({last, putOffLong(tailsAfter)});
  ListOptions simple, isFree, isShort;
  isFree.keepsLinkFree = true;
  isShort.isAlwaysShort = true;
  std::vector<ListOptions> ways = {simple, isFree};
  if (limit > 0)
    ways.push_back(isShort);
  std::vector<size_t> bests;
  for (const ListOptions &way : ways)
    for (const std::vector<std::vector<int64_t>> &keys : kinds) {
      if (isDone())
        return bests;
      if (std::optional<size_t> best =
              improveFeeding(keys, getFeedingStyles(way)))
        bests.push_back(*best);
    }
  return bests;
}

/// What comes of the fastest of the schedules by some keys in some styles.
std::optional<size_t> ScheduleSearch::improveFeeding(
    const std::vector<std::vector<int64_t>> &someKeys,
    const std::vector<ListOptions> &styles) {
  size_t first = found.size(), best = first;
  ListOptions bestStyle;
  auto run = [&](const ListOptions &each, const std::vector<int64_t> &keys) {
    style = each;
    considerList(getOptions(keys));
    if (found.size() > first && found.back().time <= found[best].time) {
      best = found.size() - 1;
      bestStyle = each;
    }
    return found.back().time;
  };
  for (const std::vector<int64_t> &keys : someKeys) {
    int64_t front = run(styles.front(), keys), back = front;
    // Where the link never binds all styles do the same.
    if (styles.size() == 1 || (back = run(styles.back(), keys)) == front)
      continue;
    // So do those that leave more or less memory, where it is never short.
    size_t each = kLayersOfSpare.size();
    for (size_t i = 0; i + each <= styles.size(); i += each) {
      size_t end = i + each - 1;
      int64_t least = i == 0 ? front : run(styles[i], keys);
      int64_t most = end + 1 == styles.size() ? back : run(styles[end], keys);
      if (most == least)
        continue;
      for (size_t k = i + 1; k < end; ++k)
        run(styles[k], keys);
    }
  }
  if (found.size() == first)
    return std::nullopt;
  style = bestStyle;
  best = improveFrom(best);
  style = ListOptions();
  return best;
}

/// Rules whose own schedule is not the fastest may lead to one that is, and so
/// may what needs less memory: it leaves more for what is moved ahead.
std::vector<size_t> ScheduleSearch::improveOtherStarts() {
  std::vector<size_t> bests;
  for (bool isByHeads : {true, false}) {
    size_t first = found.size();
    considerList(getOptions(isByHeads ? getHeads() : getTails()));
    if (found.size() > first)
      bests.push_back(improveFrom(first));
    if (isDone())
      return bests;
  }
  // The first that was found is program order.
  int64_t least = found.front().peakBytes;
  bool isTight = limit > 0 && limit / 2 < least;
  for (int64_t part = 0; isTight && part < 2; ++part) {
    ScheduleSearch search(problem, least + (limit - least) * part / 2, bound);
    search.runRules();
    search.improveFrom(search.fastest);
    bests.push_back(found.size());
    found.push_back(std::move(search.found[search.fastest]));
  }
  return bests;
}

/// How many orders are improved by moves. A move takes longer in large
/// problems.
size_t ScheduleSearch::getMaxOrders() const {
  constexpr int kMaxTwo = 8000;
  if (problem.size() <= kMaxStarted)
    return 3;
  return problem.size() <= kMaxTwo && isWorthMore() ? 2 : 1;
}

void ScheduleSearch::runBest() {
  if (limit > 0)
    findFreeing();
  runRules();
  std::vector<size_t> bests{improveFrom(fastest)};
  if (isWorthMore() && problem.getNumResources() > 1) {
    std::vector<size_t> fed = improveFeeding();
    bests.insert(bests.end(), fed.begin(), fed.end());
  }
  if (!isDone() && problem.size() <= kMaxStarted) {
    std::vector<size_t> others = improveOtherStarts();
    bests.insert(bests.end(), others.begin(), others.end());
  }
  std::stable_sort(bests.begin(), bests.end(), [&](size_t a, size_t b) {
    return found[a].time < found[b].time;
  });
  bests.resize(std::min(bests.size(), getMaxOrders()));
  for (size_t best : bests) {
    if (isDone())
      break;
    found.push_back(improveOrder(problem, found[best], limit, bound));
    if (found.back().time < found[fastest].time)
      fastest = found.size() - 1;
    // What the moves make of an order may be a better start than the first.
    if (problem.size() <= kMaxStarted)
      improveFrom(found.size() - 1);
  }
}

ScheduleResult ScheduleSearch::take() {
  int64_t longest = found[fastest].time;
  int64_t longer =
      std::min(longest / 1000000 * kTolerance,
               problem.getCommunicationTime() / 1000 * kCommunicationTolerance);
  longest = std::min(longest + longer, std::max(longest, mostTime));
  size_t chosen = fastest;
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].time <= longest &&
        found[i].peakBytes < found[chosen].peakBytes)
      chosen = i;
  return std::move(found[chosen]);
}
