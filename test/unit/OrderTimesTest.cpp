// SPDX-License-Identifier: Apache-2.0

// The times of orders that differ in some places are those of a replay.

#include "../../lib/Schedule/OrderTimes.h"
#include "../../lib/Schedule/GapCloser.h"
#include "ScheduleExamples.h"
#include "weft/Schedule/Bound.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

/// The line of events that starts collectives in their places and waits where
/// they are needed.
ScheduleResult replayOrder(const ScheduleProblem &problem,
                           const std::vector<int> &order) {
  std::vector<ScheduleEvent> events;
  std::vector<bool> isWaited(problem.size(), false);
  auto wait = [&](int task) {
    if (problem.task(task).isCollective() && !isWaited[task])
      events.push_back({ScheduleEvent::Wait, task});
    isWaited[task] = true;
  };
  for (int task : order) {
    for (int before : problem.predecessors(task))
      wait(before);
    bool isCollective = problem.task(task).isCollective();
    events.push_back(
        {isCollective ? ScheduleEvent::Start : ScheduleEvent::Compute, task});
  }
  for (int task : order)
    wait(task);
  return replay(problem, std::move(events));
}

/// `order` with a task elsewhere, where what it needs and what needs it allow.
std::vector<int> moveOne(const ScheduleProblem &problem,
                         const std::vector<int> &order, std::mt19937 &random) {
  int from = static_cast<int>(random() % order.size()), task = order[from];
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int>(i);
  int low = 0, high = static_cast<int>(order.size()) - 1;
  for (int before : problem.predecessors(task))
    low = std::max(low, place[before] + 1);
  for (int next : problem.successors(task))
    high = std::min(high, place[next] - 1);
  std::vector<int> moved = order;
  moved.erase(moved.begin() + from);
  moved.insert(moved.begin() + low +
                   static_cast<int>(random() % (high - low + 1)),
               task);
  return moved;
}

TEST(OrderTimesTest, AreThoseOfAReplay) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed, 30);
    std::vector<int64_t> tails = computeHeads(TaskGraph(problem).reversed());
    std::reverse(tails.begin(), tails.end());
    OrderTimes times(problem, tails);
    std::vector<int> order(problem.size());
    std::iota(order.begin(), order.end(), 0);
    times.reset(order);
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 200; ++i) {
      std::vector<int> moved = moveOne(problem, order, random);
      ScheduleResult expected = replayOrder(problem, moved);
      int64_t most = times.getTime() + static_cast<int64_t>(random() % 300);
      bool isTaken = times.tryOrder(moved, most);
      ASSERT_EQ(isTaken, expected.time <= most) << seed << " " << i;
      if (isTaken)
        order = moved;
      expected = replayOrder(problem, order);
      ASSERT_EQ(times.getTime(), expected.time) << seed << " " << i;
      for (int task = 0; task < problem.size(); ++task) {
        ASSERT_EQ(times.getBegin(task), expected.begin[task]);
        ASSERT_EQ(times.getEnd(task), expected.end[task]);
      }
      int64_t numWaits =
          std::count_if(expected.exposed.begin(), expected.exposed.end(),
                        [](int64_t time) { return time > 0; });
      ASSERT_LE(static_cast<int>(times.listWaits().size()), problem.size());
      ASSERT_EQ(times.listWaits().empty(), numWaits == 0);
    }
  }
}

TEST(OrderTimesTest, WhatIsNextInTheOrderIsNotWaitedForInVain) {
  ScheduleProblem problem;
  int first = problem.addTask(compute(10));
  int sum = problem.addTask(collective(100, /*channel=*/0));
  int next = problem.addTask(compute(5)), free = problem.addTask(compute(50));
  problem.addDependence(first, sum);
  problem.addDependence(sum, next);
  problem.finalize();
  std::vector<int64_t> tails{105, 5, 0, 0};
  OrderTimes times(problem, tails);
  std::vector<int> current{free, first, sum, next}, place{1, 2, 3, 0};
  times.reset(current);
  GapCloser gaps(problem, times, tails);
  std::vector<int> moved{first, sum, next, free};
  EXPECT_EQ(gaps.close(moved, place, /*most=*/115),
            (std::vector<int>{first, sum, free, next}));
  // Too slow, or no other order.
  EXPECT_EQ(gaps.close(moved, place, /*most=*/114), current);
  EXPECT_EQ(gaps.close(current, place, /*most=*/0), current);
}

} // namespace
