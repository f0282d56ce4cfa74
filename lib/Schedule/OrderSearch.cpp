// SPDX-License-Identifier: Apache-2.0

// An order of the tasks becomes a line of events by waiting as late as
// possible where that costs time, and as early as possible where it does not.
// All orders of very small problems are looked at; of others, those that one
// move makes from the best so far.

#include "OrderSearch.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <random>

using namespace mlir::weft;

namespace {

/// Tasks that all moves of a search put into lines, and moves at most.
constexpr int64_t kEffort = 4000000, kMaxMoves = 4000;

/// Problems of up to so many tasks are searched whole, with up to so many
/// tasks put into lines.
constexpr int kMaxWhole = 10;
constexpr int64_t kMaxSteps = 400000;

class OrderSearch {
public:
  OrderSearch(const ScheduleProblem &problem, const ScheduleResult &first,
              int64_t limit, int64_t bound)
      : problem(problem), limit(limit), bound(bound), best(first),
        place(problem.size()) {
    std::vector<int> order;
    for (const ScheduleEvent &event : first.events)
      if (event.kind != ScheduleEvent::Wait)
        order.push_back(event.task);
    setOrder(std::move(order));
    note(makeLine(current));
  }

  ScheduleResult run() {
    if (problem.size() <= kMaxWhole)
      tryAll();
    else
      tryMoves();
    return std::move(best);
  }

private:
  void setOrder(std::vector<int> order) {
    current = std::move(order);
    for (int i = 0, e = current.size(); i < e; ++i)
      place[current[i]] = i;
  }

  std::vector<ScheduleEvent> makeLine(const std::vector<int> &order) const;
  ScheduleResult measure(const std::vector<int> &order) const;
  bool note(std::vector<ScheduleEvent> events);
  void tryAll();
  void descend(int64_t now, std::vector<int64_t> &freeAt);
  void tryMoves();
  int chooseTask(std::mt19937 &random) const;
  std::vector<int> move(int task, std::mt19937 &random) const;
  bool tryMove(int task, std::mt19937 &random);
  void shake(std::mt19937 &random);
  void listExposed();

  const ScheduleProblem &problem;
  int64_t limit, bound;
  ScheduleResult best;
  /// The order of the tasks that is being improved, and where each stands.
  std::vector<int> current, place;
  /// The order of the best schedule.
  std::vector<int> bestOrder;
  int64_t currentTime = std::numeric_limits<int64_t>::max();
  /// Places at which the compute stream stands still.
  std::vector<int> idlePlaces;
  /// Of the search through all orders: when what was taken is done.
  std::vector<int64_t> ends;
  std::vector<bool> isTaken;
  std::vector<int> taken;
  int64_t steps = 0;
};

/// What is done by then is waited for at once, which frees its memory; the
/// rest, where it is needed.
std::vector<ScheduleEvent>
OrderSearch::makeLine(const std::vector<int> &order) const {
  std::vector<ScheduleEvent> line;
  line.reserve(2 * order.size());
  std::vector<bool> isWaited(problem.size(), false);
  std::vector<int64_t> end(problem.size(), 0);
  std::vector<int64_t> freeAt(problem.getNumResources(), 0);
  std::priority_queue<std::pair<int64_t, int>,
                      std::vector<std::pair<int64_t, int>>, std::greater<>>
      inFlight;
  int64_t now = 0;
  auto wait = [&](int task) {
    if (isWaited[task])
      return;
    isWaited[task] = true;
    now = std::max(now, end[task]);
    line.push_back({ScheduleEvent::Wait, task});
  };
  auto waitForDone = [&] {
    for (; !inFlight.empty() && inFlight.top().first <= now; inFlight.pop())
      wait(inFlight.top().second);
  };
  for (int task : order) {
    waitForDone();
    for (int before : problem.predecessors(task))
      if (problem.task(before).isCollective())
        wait(before);
    waitForDone();
    int64_t &free = freeAt[problem.resource(task)];
    end[task] = free = std::max(now, free) + problem.task(task).duration;
    if (problem.task(task).isCollective()) {
      line.push_back({ScheduleEvent::Start, task});
      inFlight.emplace(end[task], task);
    } else {
      line.push_back({ScheduleEvent::Compute, task});
      now = end[task];
    }
  }
  for (; !inFlight.empty(); inFlight.pop())
    wait(inFlight.top().second);
  return line;
}

ScheduleResult OrderSearch::measure(const std::vector<int> &order) const {
  return replay(problem, makeLine(order));
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
  if (now >= best.time || best.time <= bound || ++steps > kMaxSteps)
    return;
  if (taken.size() == place.size()) {
    note(makeLine(taken));
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

/// The places in the order in front of which there is a wait that costs time.
void OrderSearch::listExposed() {
  idlePlaces.clear();
  ScheduleResult result = measure(current);
  currentTime = result.time;
  int at = 0;
  for (const ScheduleEvent &event : result.events) {
    if (event.kind != ScheduleEvent::Wait)
      ++at;
    else if (result.exposed[event.task] > 0)
      idlePlaces.push_back(std::min<int>(at, current.size() - 1));
  }
}

/// A task near a place where time is lost, or any.
int OrderSearch::chooseTask(std::mt19937 &random) const {
  constexpr int kNear = 12;
  int size = static_cast<int>(current.size());
  if (idlePlaces.empty() || random() % 4 == 0)
    return current[random() % size];
  int at = idlePlaces[random() % idlePlaces.size()];
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

/// Moves `task` if the step is not slower then. Says whether it is faster.
bool OrderSearch::tryMove(int task, std::mt19937 &random) {
  std::vector<int> order = move(task, random);
  if (order == current)
    return false;
  ScheduleResult result = measure(order);
  if (result.time > currentTime || (limit > 0 && result.peakBytes > limit))
    return false;
  bool isFaster = result.time < currentTime;
  setOrder(std::move(order));
  if (result.time < best.time) {
    best = std::move(result);
    bestOrder = current;
  }
  listExposed();
  return isFaster;
}

/// Some moves whatever they cost, from the best order.
void OrderSearch::shake(std::mt19937 &random) {
  constexpr int kNumMoves = 4;
  setOrder(bestOrder);
  for (int i = 0; i < kNumMoves; ++i)
    setOrder(move(current[random() % current.size()], random));
  listExposed();
}

void OrderSearch::tryMoves() {
  constexpr int64_t kPatience = 15;
  std::mt19937 random(1);
  bestOrder = current;
  listExposed();
  int64_t numMoves = std::min(kMaxMoves, kEffort / problem.size()), stale = 0;
  for (int64_t i = 0; i < numMoves && best.time > bound; ++i) {
    stale = tryMove(chooseTask(random), random) ? 0 : stale + 1;
    if (stale > kPatience * problem.size()) {
      shake(random);
      stale = 0;
    }
  }
}

} // namespace

ScheduleResult mlir::weft::improveOrder(const ScheduleProblem &problem,
                                        const ScheduleResult &first,
                                        int64_t limit, int64_t bound) {
  if (first.time <= bound)
    return first;
  return OrderSearch(problem, first, limit, bound).run();
}
