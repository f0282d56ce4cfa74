// SPDX-License-Identifier: Apache-2.0

#include "GapCloser.h"

#include <algorithm>
#include <functional>

using namespace mlir::weft;

/// The least of a heap is its first.
template <typename T> static void push(std::vector<T> &heap, T value) {
  heap.push_back(std::move(value));
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

template <typename T> static T pop(std::vector<T> &heap) {
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  T value = std::move(heap.back());
  heap.pop_back();
  return value;
}

/// Sets what there is in front of place `from` of `order`.
void GapCloser::begin(const std::vector<int> &order, int from,
                      const std::vector<int> &place) {
  now = times.getNow(from);
  links.resize(problem.getNumResources());
  freeAt.resize(links.size());
  numStarted.assign(links.size(), 0);
  for (size_t r = 0; r < links.size(); ++r) {
    links[r].clear();
    freeAt[r] = times.getFree(from, static_cast<int>(r));
  }
  ready.clear();
  inFlight.clear();
  result.clear();
  numBefore.assign(order.size(), 0);
  at.resize(order.size());
  for (int i = from, e = order.size(); i < e; ++i) {
    int task = order[i];
    at[task] = i;
    for (int before : problem.predecessors(task)) {
      bool isUnderWay = place[before] < from && times.getEnd(before) > now;
      numBefore[task] += place[before] >= from || isUnderWay;
      if (isUnderWay)
        inFlight.emplace_back(times.getEnd(before), before);
    }
    if (problem.task(task).isCollective())
      links[problem.resource(task)].push_back(task);
    else if (numBefore[task] == 0)
      push(ready, i);
  }
  // Several wait for the same. What is sorted is a heap.
  std::sort(inFlight.begin(), inFlight.end());
  inFlight.erase(std::unique(inFlight.begin(), inFlight.end()), inFlight.end());
}

void GapCloser::finish(int task) {
  for (int user : problem.successors(task))
    if (--numBefore[user] == 0 && !problem.task(user).isCollective())
      push(ready, at[user]);
}

void GapCloser::finishWhatIsDone() {
  while (!inFlight.empty() && inFlight.front().first <= now)
    finish(pop(inFlight).second);
}

/// Those that can be, as far as nothing in front of them on their link cannot.
void GapCloser::startCollectives() {
  for (size_t r = 0; r < links.size(); ++r)
    for (size_t &next = numStarted[r];
         next < links[r].size() && numBefore[links[r][next]] == 0; ++next) {
      int task = links[r][next];
      freeAt[r] = std::max(now, freeAt[r]) + problem.task(task).duration;
      push(inFlight, std::make_pair(freeAt[r], task));
      result.push_back(task);
    }
}

std::vector<int> GapCloser::close(std::vector<int> order,
                                  const std::vector<int> &place, int64_t most) {
  const std::vector<int> &current = times.getOrder();
  auto from = std::mismatch(order.begin(), order.end(), current.begin()).first;
  if (from == order.end())
    return order;
  begin(order, static_cast<int>(from - order.begin()), place);
  size_t numLeft = order.end() - from;
  while (result.size() < numLeft) {
    finishWhatIsDone();
    startCollectives();
    if (!ready.empty()) {
      int task = order[pop(ready)];
      result.push_back(task);
      now += problem.task(task).duration;
      if (now > most - tails[task])
        return current;
      finish(task);
    } else if (!inFlight.empty()) {
      now = std::max(now, inFlight.front().first);
    }
  }
  std::copy(result.begin(), result.end(), from);
  return order;
}
