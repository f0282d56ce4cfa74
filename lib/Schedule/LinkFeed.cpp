// SPDX-License-Identifier: Apache-2.0

// The rule is that of feeding a bottleneck before it starves (C. Glassey, M.
// Resende, "Closed-loop job release control for VLSI circuit manufacturing",
// IEEE Transactions on Semiconductor Manufacturing 1, 1988).

#include "LinkFeed.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir::weft;

static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

LinkFeed::LinkFeed(const ScheduleProblem &problem,
                   const std::vector<int64_t> &keys)
    : problem(problem), keys(keys), left(problem.getNumResources(), 0),
      feedTimes(problem.size(), kNever), isIssued(problem.size(), false),
      byKey(problem.size()) {
  for (int i = 0; i < problem.size(); ++i)
    left[problem.resource(i)] += problem.task(i).duration;
  for (int r = 2, e = problem.getNumResources(); r < e; ++r)
    if (left[r] > left[link])
      link = r;
  for (int i = problem.size() - 1; i >= 0; --i) {
    int64_t least = kNever;
    for (int next : problem.successors(i))
      least =
          std::min(least, problem.resource(next) == link ? 0 : feedTimes[next]);
    if (least != kNever)
      feedTimes[i] = least + problem.task(i).duration;
  }
  std::iota(byKey.begin(), byKey.end(), 0);
  std::stable_sort(byKey.begin(), byKey.end(),
                   [&](int a, int b) { return keys[a] < keys[b]; });
}

void LinkFeed::makeReady(int task) {
  if (problem.resource(task) == link)
    queued += problem.task(task).duration;
  else if (problem.resource(task) == kComputeStream &&
           feedTimes[task] != kNever)
    feeders.emplace(feedTimes[task], task);
}

void LinkFeed::issue(int task) {
  isIssued[task] = true;
  left[problem.resource(task)] -= problem.task(task).duration;
  if (problem.resource(task) == link)
    queued -= problem.task(task).duration;
}

int LinkFeed::findSooner(int task) {
  while (!feeders.empty() && isIssued[feeders.top().second])
    feeders.pop();
  bool isSooner = !feeders.empty() && feeders.top().first < feedTimes[task];
  return isSooner ? feeders.top().second : -1;
}

int64_t LinkFeed::getLowestKey() {
  while (firstByKey < byKey.size() && isIssued[byKey[firstByKey]])
    ++firstByKey;
  return firstByKey < byKey.size() ? keys[byKey[firstByKey]] : kNever;
}
