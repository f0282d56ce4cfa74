// SPDX-License-Identifier: Apache-2.0

#include "OrderTimes.h"

#include <algorithm>
#include <limits>

using namespace mlir::weft;

OrderTimes::OrderTimes(const ScheduleProblem &problem,
                       const std::vector<int64_t> &tails)
    : problem(problem), tails(tails), numResources(problem.getNumResources()),
      ends(problem.size(), 0) {}

/// Does `task` next. Says whether all may still be done after `most` ns.
bool OrderTimes::step(int task, int64_t most) {
  for (int before : problem.predecessors(task))
    now = std::max(now, ends[before]);
  int64_t &end = free[problem.resource(task)];
  end = std::max(now, end) + problem.task(task).duration;
  ends[task] = end;
  if (!problem.task(task).isCollective())
    now = end;
  return end <= most - tails[task];
}

/// Says whether what follows from a place on has the times that it had.
bool OrderTimes::isAsBefore(int place) const {
  return now == nows[place] && std::equal(free.begin(), free.end(),
                                          frees.begin() + place * numResources);
}

/// When all that has been done by now is done.
int64_t OrderTimes::getLast() const {
  return std::max(now, *std::max_element(free.begin(), free.end()));
}

void OrderTimes::reset(std::vector<int> newOrder) {
  order = std::move(newOrder);
  nows.clear();
  frees.clear();
  free.assign(numResources, 0);
  now = 0;
  for (int task : order) {
    nows.push_back(now);
    frees.insert(frees.end(), free.begin(), free.end());
    step(task, std::numeric_limits<int64_t>::max());
  }
  nows.push_back(now);
  frees.insert(frees.end(), free.begin(), free.end());
  time = getLast();
}

bool OrderTimes::tryOrder(const std::vector<int> &newOrder, int64_t most) {
  int size = static_cast<int>(order.size()), first = 0, last = size - 1;
  while (first < size && order[first] == newOrder[first])
    ++first;
  if (first == size)
    return time <= most;
  while (order[last] == newOrder[last])
    --last;
  now = nows[first];
  free.assign(frees.begin() + first * numResources,
              frees.begin() + (first + 1) * numResources);
  newNows.clear();
  newFrees.clear();
  oldEnds.clear();
  // Until then something ends at another time than it did.
  int64_t otherUntil = 0;
  bool isWithin = true, isSame = false;
  int place = first;
  for (; place < size && isWithin; ++place) {
    isSame = place > last && otherUntil <= now && isAsBefore(place);
    if (isSame)
      break;
    int task = newOrder[place];
    newNows.push_back(now);
    newFrees.insert(newFrees.end(), free.begin(), free.end());
    oldEnds.push_back(ends[task]);
    isWithin = step(task, most);
    if (ends[task] != oldEnds.back())
      otherUntil = std::max({otherUntil, ends[task], oldEnds.back()});
  }
  int64_t newTime = isSame ? time : getLast();
  if (!isWithin || newTime > most) {
    for (int i = first; i < place; ++i)
      ends[newOrder[i]] = oldEnds[i - first];
    return false;
  }
  std::copy(newOrder.begin() + first, newOrder.begin() + place,
            order.begin() + first);
  std::copy(newNows.begin(), newNows.end(), nows.begin() + first);
  std::copy(newFrees.begin(), newFrees.end(),
            frees.begin() + first * numResources);
  if (!isSame) {
    nows[size] = now;
    std::copy(free.begin(), free.end(), frees.begin() + size * numResources);
  }
  time = newTime;
  return true;
}

std::vector<std::pair<int, int>> OrderTimes::listWaits() const {
  std::vector<std::pair<int, int>> waits;
  int size = static_cast<int>(order.size());
  for (int place = 0; place < size; ++place) {
    int64_t at = nows[place];
    for (int before : problem.predecessors(order[place]))
      if (ends[before] > at) {
        waits.emplace_back(before, place);
        at = ends[before];
      }
  }
  // What nothing else waits for is waited for at the end.
  std::vector<int> left;
  for (int task : order)
    if (ends[task] > nows[size])
      left.push_back(task);
  std::stable_sort(left.begin(), left.end(),
                   [&](int a, int b) { return ends[a] < ends[b]; });
  int64_t at = nows[size];
  for (int task : left)
    if (ends[task] > at) {
      waits.emplace_back(task, size - 1);
      at = ends[task];
    }
  return waits;
}
