// SPDX-License-Identifier: Apache-2.0

// An order of the tasks becomes a line of events by waiting as late as
// possible where that costs time, and as early as possible where it does not.
// All orders of very small problems are looked at; of others, those that one
// move makes from the best so far, and by threshold accepting from those that
// are little slower (G. Dueck, T. Scheuer, "Threshold accepting", Journal of
// Computational Physics 90, 1990).

#include "OrderSearch.h"
#include "GapCloser.h"
#include "LiveBytes.h"
#include "OrderTimes.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <random>

using namespace mlir::weft;

namespace {

/// Tasks that all moves of a search put into lines, and moves at most; of small
/// problems there are more, as long as they put few tasks into lines.
constexpr int64_t kEffort = 12000000, kMaxMoves = 4000;
constexpr int64_t kSmallEffort = 200000, kMaxSmallMoves = 20000;

/// With a limit a move takes several times as long, and more of them fail for
/// want of memory.
constexpr int64_t kLimitedEffortPart = 2;

/// Moves of threshold accepting for each task, and tasks that all of them put
/// into lines.
constexpr int64_t kAnnealingMoves = 280, kAnnealingEffort = 52000000;

/// One move of so many brings work from afar.
constexpr int kNumSmallMoves = 16;

/// What is one part in so many above the bound is good enough.
constexpr int64_t kTolerated = 1000;

/// Where a limit matters there are so many times fewer: many orders are made
/// then, each for other bytes.
constexpr int64_t kLimitedPart = 8;

/// Problems of up to so many tasks are searched whole, with up to so many
/// tasks put into lines.
constexpr int kMaxWhole = 10;
constexpr int64_t kMaxPositions = 400000;

class OrderSearch {
public:
  OrderSearch(const ScheduleProblem &problem, const ScheduleResult &first,
              int64_t limit, int64_t bound)
      : problem(problem), limit(limit), bound(bound), best(first),
        tails(computeHeads(TaskGraph(problem).reversed())),
        place(problem.size()), work(problem.getNumResources(), 0) {
    std::reverse(tails.begin(), tails.end());
    for (int i = 0; i < problem.size(); ++i)
      work[problem.resource(i)] += problem.task(i).duration;
    // Nothing is to be counted where all of it fits.
    if (problem.getMostBytes() <= limit)
      this->limit = 0;
    std::vector<int> order;
    for (const ScheduleEvent &event : first.events)
      if (event.kind != ScheduleEvent::Wait)
        order.push_back(event.task);
    setOrder(std::move(order));
    if (makeLine(current))
      note(made.events);
    if (this->limit == 0) {
      times.emplace(problem, tails);
      gaps.emplace(problem, *times, tails);
    }
  }

  ScheduleResult run() {
    if (problem.size() <= kMaxWhole)
      tryAll();
    else
      tryMoves();
    return takeBest();
  }

  ScheduleResult anneal(bool isWide);

private:
  void cool(int64_t most, std::mt19937 &random);
  void setOrder(std::vector<int> order) {
    current = std::move(order);
    for (int i = 0, e = current.size(); i < e; ++i)
      place[current[i]] = i;
  }

  bool makeLine(const std::vector<int> &order,
                int64_t most = std::numeric_limits<int64_t>::max());
  bool note(std::vector<ScheduleEvent> events);
  ScheduleResult takeBest();
  void tryAll();
  void descend(int64_t now, std::vector<int64_t> &freeAt);
  void tryMoves();
  int chooseTask(std::mt19937 &random) const;
  std::vector<int> move(int task, std::mt19937 &random) const;
  std::vector<int> moveEarlier(int task, int to) const;
  std::vector<int> moveLater(int task, int last) const;
  int64_t getReady(int task) const;
  std::vector<int> moveForWait(std::mt19937 &random) const;
  std::vector<int> findBlock(int task) const;
  std::vector<int> moveOnPath(std::mt19937 &random) const;
  std::vector<int> proposeOrder(std::mt19937 &random);
  std::vector<int> bringWork(std::mt19937 &random);
  std::vector<int> closeGaps(std::vector<int> order) {
    return gaps->close(std::move(order), place, mostTime);
  }
  std::vector<int> moveUp(int task, std::mt19937 &random) const;
  std::vector<int> fillWait(int task, std::mt19937 &random) const;
  std::vector<int> putOff(int task, std::mt19937 &random) const;
  bool tryOrder(std::vector<int> order, int64_t slack = 0);
  void shake(std::mt19937 &random);
  void start(std::vector<int> order);
  void take(std::vector<int> order);
  int64_t getBegin(int task) const {
    return times ? times->getBegin(task) : reached.begin[task];
  }
  int64_t getEnd(int task) const {
    return times ? times->getEnd(task) : reached.end[task];
  }
  int64_t getTime() const { return times ? times->getTime() : reached.time; }

  const ScheduleProblem &problem;
  int64_t limit, bound;
  ScheduleResult best;
  /// For each task how long all takes at least that must come after its end.
  std::vector<int64_t> tails;
  /// The order of the tasks that is being improved, and where each stands.
  std::vector<int> current, place;
  /// Nanoseconds of all tasks of each resource.
  std::vector<int64_t> work;
  /// The order of the best schedule.
  std::vector<int> bestOrder;
  /// Where memory is no limit, its times, and what closes its gaps.
  std::optional<OrderTimes> times;
  std::optional<GapCloser> gaps;
  /// With a limit: what comes of it, and of the last order that was looked at:
  /// all but how many bytes are alive.
  ScheduleResult reached, made;
  /// While an order is looked at: what has been computed or waited for, and
  /// what each resource has left to do and when it is free.
  std::vector<char> isPassed;
  std::vector<int64_t> freeAt, left;
  /// The collectives that are waited for, and the places in the order in front
  /// of which that is.
  std::vector<std::pair<int, int>> waits;
  /// Closed gaps that take longer are worth nothing.
  int64_t mostTime = std::numeric_limits<int64_t>::max();
  /// Of the search through all orders: when what was taken is done.
  std::vector<int64_t> ends;
  std::vector<bool> isTaken;
  std::vector<int> taken;
  int64_t steps = 0;
};

/// What is done by then is waited for at once, which frees its memory; the
/// rest, where it is needed, or where the limit leaves no room for what comes
/// next. Says whether that is enough, and it takes no longer than `most`: with
/// what is left to do, that mostly shows early. Times are those of `replay`.
bool OrderSearch::makeLine(const std::vector<int> &order, int64_t most) {
  made.events.clear();
  made.begin.assign(problem.size(), 0);
  made.end.assign(problem.size(), 0);
  made.exposed.assign(problem.size(), 0);
  isPassed.assign(problem.size(), false);
  freeAt.assign(problem.getNumResources(), 0);
  left = work;
  std::priority_queue<std::pair<int64_t, int>,
                      std::vector<std::pair<int64_t, int>>, std::greater<>>
      inFlight;
  std::optional<LiveBytes> live;
  if (limit > 0)
    live.emplace(problem);
  int64_t now = 0;
  auto wait = [&](int task) {
    if (isPassed[task])
      return;
    isPassed[task] = true;
    made.exposed[task] = std::max<int64_t>(0, made.end[task] - now);
    now += made.exposed[task];
    made.events.push_back({ScheduleEvent::Wait, task});
    if (live)
      live->release(task);
  };
  auto waitForDone = [&] {
    for (; !inFlight.empty() && inFlight.top().first <= now; inFlight.pop())
      wait(inFlight.top().second);
  };
  auto hasRoom = [&](int task) {
    for (; live && live->getBytesWith(task) > limit; inFlight.pop()) {
      if (inFlight.empty())
        return false;
      wait(inFlight.top().second);
    }
    return true;
  };
  for (int task : order) {
    waitForDone();
    for (int before : problem.predecessors(task))
      wait(before);
    waitForDone();
    if (!hasRoom(task) || now > most - left[0])
      return false;
    if (live)
      live->allocate(task);
    int resource = problem.resource(task);
    int64_t duration = problem.task(task).duration, &free = freeAt[resource];
    made.begin[task] = std::max(now, free);
    made.end[task] = free = made.begin[task] + duration;
    left[resource] -= duration;
    if (free > most - std::max(left[resource], tails[task]))
      return false;
    if (problem.task(task).isCollective()) {
      made.events.push_back({ScheduleEvent::Start, task});
      inFlight.emplace(free, task);
    } else {
      made.events.push_back({ScheduleEvent::Compute, task});
      now = free;
      isPassed[task] = true;
      if (live)
        live->release(task);
    }
  }
  for (; !inFlight.empty(); inFlight.pop())
    wait(inFlight.top().second);
  made.time = now;
  return true;
}

/// Takes `events` as the best if they are.
bool OrderSearch::note(std::vector<ScheduleEvent> events) {
  ScheduleResult result = replay(problem, std::move(events));
  bool isBetter =
      result.time < best.time && (limit == 0 || result.peakBytes <= limit);
  if (isBetter)
    best = std::move(result);
  return isBetter;
}

void OrderSearch::tryAll() {
  ends.assign(problem.size(), 0);
  isTaken.assign(problem.size(), false);
  std::vector<int64_t> freeAt(problem.getNumResources(), 0);
  descend(0, freeAt);
}

void OrderSearch::descend(int64_t now, std::vector<int64_t> &freeAt) {
  if (now >= best.time || best.time <= bound || ++steps > kMaxPositions)
    return;
  if (taken.size() == place.size()) {
    if (makeLine(taken))
      note(made.events);
    return;
  }
  for (int i = 0; i < problem.size(); ++i) {
    bool isReady = !isTaken[i];
    int64_t ready = now;
    for (int before : problem.predecessors(i)) {
      isReady &= isTaken[before];
      ready = std::max(ready, ends[before]);
    }
    if (!isReady)
      continue;
    int64_t &free = freeAt[problem.resource(i)];
    int64_t freeBefore = free;
    ends[i] = free = std::max(ready, free) + problem.task(i).duration;
    isTaken[i] = true;
    taken.push_back(i);
    if (ends[i] < best.time)
      descend(problem.task(i).isCollective() ? ready : ends[i], freeAt);
    taken.pop_back();
    isTaken[i] = false;
    freeAt[problem.resource(i)] = freeBefore;
  }
}

/// Goes on from `order`. If that is not within the limit, it has the times of
/// the best.
void OrderSearch::start(std::vector<int> order) {
  if (times)
    times->reset(order);
  else if (!makeLine(order))
    made = best;
  take(std::move(order));
}

/// What was looked at last is the order that is being improved.
void OrderSearch::take(std::vector<int> order) {
  setOrder(std::move(order));
  if (times) {
    waits = times->listWaits();
    return;
  }
  std::swap(reached, made);
  waits.clear();
  int at = 0;
  for (const ScheduleEvent &event : reached.events) {
    if (event.kind != ScheduleEvent::Wait)
      ++at;
    else if (reached.exposed[event.task] > 0)
      waits.emplace_back(event.task, std::min<int>(at, current.size() - 1));
  }
}

/// A task near a place where time is lost, or any.
int OrderSearch::chooseTask(std::mt19937 &random) const {
  constexpr int kNear = 12;
  int size = static_cast<int>(current.size());
  if (waits.empty() || random() % 4 == 0)
    return current[random() % size];
  int at = waits[random() % waits.size()].second;
  int near = at + static_cast<int>(random() % (2 * kNear)) - kNear;
  return current[std::clamp(near, 0, size - 1)];
}

/// The order with `task` at another place where it may stand.
std::vector<int> OrderSearch::move(int task, std::mt19937 &random) const {
  int low = 0, high = static_cast<int>(current.size()) - 1;
  for (int before : problem.predecessors(task))
    low = std::max(low, place[before] + 1);
  for (int next : problem.successors(task))
    high = std::min(high, place[next] - 1);
  // Mostly not far.
  if (random() % 4 != 0) {
    int reach = 1 + static_cast<int>(random() % 16);
    low = std::max(low, place[task] - reach);
    high = std::min(high, place[task] + reach);
  }
  int to = low + static_cast<int>(random() % (high - low + 1));
  std::vector<int> order = current;
  order.erase(order.begin() + place[task]);
  order.insert(order.begin() + to, task);
  return order;
}

/// The order with `task`, and what it needs from there on, at place `to`.
std::vector<int> OrderSearch::moveEarlier(int task, int to) const {
  std::vector<bool> isMember(problem.size(), false);
  std::vector<int> members{task};
  isMember[task] = true;
  for (size_t i = 0; i < members.size(); ++i)
    for (int before : problem.predecessors(members[i]))
      if (place[before] >= to && !isMember[before]) {
        isMember[before] = true;
        members.push_back(before);
      }
  std::sort(members.begin(), members.end(),
            [&](int a, int b) { return place[a] < place[b]; });
  std::vector<int> order(current.begin(), current.begin() + to);
  order.insert(order.end(), members.begin(), members.end());
  for (size_t i = to; i < current.size(); ++i)
    if (!isMember[current[i]])
      order.push_back(current[i]);
  return order;
}

/// The order with `task`, and what depends on it up to there, after the task
/// `last`; the same order if that depends on it, or that is much.
std::vector<int> OrderSearch::moveLater(int task, int last) const {
  constexpr size_t kMaxMembers = 16;
  int to = place[last];
  std::vector<int> members{task};
  auto isMember = [&](int i) {
    return std::find(members.begin(), members.end(), i) != members.end();
  };
  for (size_t i = 0; i < members.size(); ++i)
    for (int next : problem.successors(members[i]))
      if (place[next] <= to && !isMember(next)) {
        if (next == last || members.size() == kMaxMembers)
          return current;
        members.push_back(next);
      }
  if (task == last || place[task] > to)
    return current;
  std::sort(members.begin(), members.end(),
            [&](int a, int b) { return place[a] < place[b]; });
  std::vector<int> order = current;
  auto end = order.begin() + place[task];
  size_t next = 0;
  for (int i = place[task]; i <= to; ++i)
    if (next < members.size() && current[i] == members[next])
      ++next;
    else
      *end++ = current[i];
  std::copy(members.begin(), members.end(), end);
  return order;
}

/// When all that `task` depends on is done.
int64_t OrderSearch::getReady(int task) const {
  int64_t ready = 0;
  for (int before : problem.predecessors(task))
    ready = std::max(ready, getEnd(before));
  return ready;
}

/// The order with `task` some places earlier.
std::vector<int> OrderSearch::moveUp(int task, std::mt19937 &random) const {
  constexpr int kFar = 64;
  int reach = 1 + static_cast<int>(random() % kFar);
  return moveEarlier(task, std::max(0, place[task] - reach));
}

/// The order with a later computation in front of the wait for `task`.
std::vector<int> OrderSearch::fillWait(int task, std::mt19937 &random) const {
  constexpr int kFar = 256;
  int at = 0;
  for (auto [waited, to] : waits)
    at = waited == task ? to : at;
  int from = at + static_cast<int>(random() % kFar);
  for (int i = from, e = std::min<int>(from + kFar, current.size()); i < e; ++i)
    if (!problem.task(current[i]).isCollective() &&
        getReady(current[i]) <= getBegin(current[at]))
      return moveEarlier(current[i], at);
  return current;
}

/// The order with an earlier computation that is not needed by then, and what
/// needs it, say the collective that sends it and the update that reads what
/// that brings, after the start of `task`: elsewhere there was more to do than
/// the wait took.
std::vector<int> OrderSearch::putOff(int task, std::mt19937 &random) const {
  constexpr int kNumTries = 24;
  int to = place[task];
  for (int i = 0; i < kNumTries && to > 0; ++i) {
    int earlier = current[random() % to];
    const ScheduleTask &computation = problem.task(earlier);
    if (computation.isCollective() || computation.duration == 0)
      continue;
    std::vector<int> order = moveLater(earlier, task);
    if (order != current)
      return order;
  }
  return current;
}

/// A change that may make one of the waits shorter.
std::vector<int> OrderSearch::moveForWait(std::mt19937 &random) const {
  int task = waits[random() % waits.size()].first;
  // Up the chain of what was done just before.
  for (int steps = static_cast<int>(random() % 4); steps > 0; --steps) {
    int latest = -1;
    for (int before : problem.predecessors(task))
      if (latest < 0 || getEnd(before) > getEnd(latest))
        latest = before;
    if (latest < 0)
      break;
    task = latest;
  }
  if (random() % 3 == 0 && problem.task(task).isCollective())
    return random() % 2 == 0 ? fillWait(task, random) : putOff(task, random);
  // What kept its link, or the compute stream, busy goes after it.
  std::vector<int> blockers;
  int64_t ready = getReady(task);
  for (int i = place[task] - 1; i >= 0 && blockers.size() < 32; --i)
    if (problem.resource(current[i]) == problem.resource(task)) {
      if (getEnd(current[i]) <= ready)
        break;
      blockers.push_back(current[i]);
    }
  if (blockers.empty() || random() % 3 == 0)
    return moveUp(task, random);
  return moveLater(blockers[random() % blockers.size()], task);
}

/// What keeps `task` from beginning when it could, the latest first: what its
/// resource does meanwhile, or the compute stream in front of its start.
std::vector<int> OrderSearch::findBlock(int task) const {
  constexpr size_t kMaxBlock = 48;
  int64_t begin = getBegin(task), ready = getReady(task);
  auto find = [&](int resource) {
    std::vector<int> block;
    int64_t at = begin;
    for (int i = place[task] - 1; i >= 0 && at > ready; --i) {
      int other = current[i];
      if (problem.resource(other) != resource ||
          problem.task(other).duration == 0)
        continue;
      if (getEnd(other) < at || block.size() == kMaxBlock)
        break;
      block.push_back(other);
      at = getBegin(other);
    }
    return block;
  };
  std::vector<int> block = find(problem.resource(task));
  return block.empty() ? find(/*resource=*/0) : block;
}

/// A change somewhere on the path that leads to one of the waits.
std::vector<int> OrderSearch::moveOnPath(std::mt19937 &random) const {
  constexpr int kMaxSteps = 64;
  int task = waits[random() % waits.size()].first;
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if (std::vector<int> block = findBlock(task); !block.empty()) {
      int chosen = block[random() % block.size()];
      if (random() % 3 == 0)
        return random() % 2 == 0 ? moveEarlier(task, place[chosen])
                                 : moveLater(chosen, task);
      task = random() % 2 == 0 ? block.front() : chosen;
      continue;
    }
    int latest = -1;
    for (int before : problem.predecessors(task))
      if (latest < 0 || getEnd(before) > getEnd(latest))
        latest = before;
    if (latest < 0)
      break;
    task = latest;
  }
  return current;
}

/// The order with a later computation, and all that it needs, some places in
/// front of a wait. What can follow then follows at once: where collectives
/// keep one microbatch waiting, a few of another let much of it be computed
/// meanwhile, but no single task of it could be.
std::vector<int> OrderSearch::bringWork(std::mt19937 &random) {
  constexpr int kNear = 64;
  int at = waits[random() % waits.size()].second;
  int size = static_cast<int>(current.size());
  int from = at + static_cast<int>(random() % (size - at));
  int to = std::max(0, at - static_cast<int>(random() % kNear));
  return closeGaps(moveEarlier(current[from], to));
}

/// One move. Single moves mostly leave gaps that all that follows could fill;
/// where a limit matters, what is done earlier for that mostly has no memory.
std::vector<int> OrderSearch::proposeOrder(std::mt19937 &random) {
  if (limit > 0) {
    bool isForWait = !waits.empty() && random() % 2 == 0;
    return isForWait ? moveForWait(random) : move(chooseTask(random), random);
  }
  std::vector<int> order;
  if (waits.empty() || random() % 3 == 0)
    order = move(chooseTask(random), random);
  else
    order = random() % 2 == 0 ? moveOnPath(random) : moveForWait(random);
  return random() % 3 == 0 ? closeGaps(std::move(order)) : order;
}

/// Takes `order` if the step is slower by `slack` at most. Says whether it is
/// faster.
bool OrderSearch::tryOrder(std::vector<int> order, int64_t slack) {
  if (order == current)
    return false;
  int64_t before = getTime(), most = before + slack;
  bool isWithin = times ? times->tryOrder(order, most)
                        : makeLine(order, most) && made.time <= most;
  if (!isWithin)
    return false;
  take(std::move(order));
  if (getTime() < best.time) {
    best.time = getTime();
    bestOrder = current;
  }
  return getTime() < before;
}

/// The line of the best order, or what was best before any move.
ScheduleResult OrderSearch::takeBest() {
  if (!bestOrder.empty() && makeLine(bestOrder) && made.time == best.time)
    best.events = std::move(made.events);
  return replay(problem, std::move(best.events));
}

/// Some moves whatever they cost, from the best order.
void OrderSearch::shake(std::mt19937 &random) {
  constexpr int kNumMoves = 4;
  setOrder(bestOrder);
  for (int i = 0; i < kNumMoves; ++i)
    setOrder(move(current[random() % current.size()], random));
  start(times || makeLine(current) ? current : bestOrder);
}

void OrderSearch::tryMoves() {
  constexpr int64_t kPatience = 15;
  std::mt19937 random(1);
  bestOrder = current;
  start(current);
  int64_t effort = limit > 0 ? kEffort / kLimitedEffortPart : kEffort;
  int64_t numMoves = std::min(kMaxMoves, effort / problem.size()), stale = 0;
  numMoves = std::max(numMoves,
                      std::min(kMaxSmallMoves, kSmallEffort / problem.size()));
  for (int64_t i = 0; i < numMoves && best.time > bound; ++i) {
    mostTime = getTime();
    stale = tryOrder(proposeOrder(random)) ? 0 : stale + 1;
    if (stale > kPatience * problem.size()) {
      shake(random);
      stale = 0;
    }
  }
}

/// Moves that cost up to `most`, and less and less. Few of them are large,
/// since most of those cost too much; and none where memory matters, since they
/// take no account of it.
void OrderSearch::cool(int64_t most, std::mt19937 &random) {
  int64_t numMoves = std::min(kAnnealingMoves * problem.size(),
                              kAnnealingEffort / problem.size());
  if (limit > 0)
    numMoves /= kLimitedPart;
  for (int64_t left = numMoves; left > 0 && best.time > bound; --left) {
    int64_t slack = most * left / numMoves * left / numMoves;
    slack = int64_t(random() % (slack + 1));
    mostTime = getTime() + slack;
    bool isLarge =
        limit == 0 && !waits.empty() && random() % kNumSmallMoves == 0;
    tryOrder(isLarge ? bringWork(random) : proposeOrder(random), slack);
  }
}

/// Each time from the order as it is. Moves that cost what a few collectives
/// take lead to orders that differ in much; those that cost one, or a part of
/// one, to the best of what is alike.
ScheduleResult OrderSearch::anneal(bool isWide) {
  int64_t sum = 0, count = 0;
  for (const ScheduleTask &task : problem.getTasks())
    if (task.isCollective() && task.duration > 0) {
      sum += task.duration;
      ++count;
    }
  if (count == 0)
    return takeBest();
  std::mt19937 random(1);
  bestOrder = current;
  const std::vector<int> firstOrder = current;
  int64_t most = (isWide ? 3 : 1) * sum / count;
  for (int64_t slack : {most, most / 3}) {
    bool isDone = best.time - bound <= bound / kTolerated;
    if (isDone || (limit > 0 && slack == most))
      continue;
    start(firstOrder);
    cool(slack, random);
  }
  return takeBest();
}

} // namespace

ScheduleResult mlir::weft::annealOrder(const ScheduleProblem &problem,
                                       const ScheduleResult &first,
                                       int64_t limit, int64_t bound,
                                       bool isWide) {
  return OrderSearch(problem, first, limit, bound).anneal(isWide);
}

ScheduleResult mlir::weft::improveOrder(const ScheduleProblem &problem,
                                        const ScheduleResult &first,
                                        int64_t limit, int64_t bound) {
  if (first.time <= bound)
    return first;
  return OrderSearch(problem, first, limit, bound).run();
}
