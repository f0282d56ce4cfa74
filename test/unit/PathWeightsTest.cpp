// SPDX-License-Identifier: Apache-2.0

// What all resources together must do beside the longest path.

#include "FastestOrder.h"
#include "ScheduleExamples.h"
#include "weft/Schedule/Bound.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

#include <limits>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

TEST(PathWeightsTest, NoBoundIsAboveTheFastestOrder) {
  int numAbovePath = 0, numReached = 0, numReversed = 0;
  constexpr int kNumProblems = 2000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    int size = 4 + static_cast<int>(seed % 5);
    ScheduleProblem problem =
        seed % 4 == 0   ? makeRandomProblem(seed + 120000, size)
        : seed % 4 == 1 ? makeRandomDelays(seed + 120000, size)
        : seed % 4 == 2 ? makeRandomTwins(seed + 120000, size)
                        : makeRandomChain(seed + 120000, size);
    TaskGraph graph(problem);
    int64_t fastest = FastestOrder(problem).get(), path = 0;
    for (int task : findLongestPath(graph))
      path += graph.durations[task];
    // Whatever is aimed at.
    for (int64_t enough : {path, fastest, 2 * fastest + 1, kNever})
      ASSERT_LE(computeWeightedPath(graph, enough), fastest);
    int64_t bound = computeWeightedPath(graph, fastest + 1);
    ASSERT_LE(bound, fastest);
    int64_t turned = computeWeightedPath(graph.reversed(), fastest + 1);
    ASSERT_LE(turned, fastest);
    // Rounding may cost a little.
    ASSERT_GE(bound + 2, path);
    numAbovePath += bound > path;
    numReached += bound > path && bound + 2 >= fastest;
    numReversed += turned > path;
  }
  EXPECT_GT(numAbovePath, kNumProblems / 10);
  EXPECT_GT(numReached, kNumProblems / 50);
  EXPECT_GT(numReversed, kNumProblems / 10);
}

TEST(PathWeightsTest, OtherBoundsOfLargerProblemsAreLower) {
  int numHighest = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = seed % 2 == 0
                                  ? makeRandomTwins(seed, /*size=*/40)
                                  : makeRandomChain(seed, /*size=*/40);
    ScheduleOptions options;
    options.isQuick = true;
    int64_t found = makeSchedule(problem, options).result.time;
    TaskGraph graph(problem);
    int64_t bound = computeWeightedPath(graph, found);
    ASSERT_LE(bound, found);
    numHighest += bound > computeLowerBound(graph).get();
  }
  EXPECT_GE(numHighest, 1);
}

/// Two exchanges of 100 with a computation of 10 in front of each and after
/// them, then a collective of 100 and a computation of 10. After the first
/// exchange, 50 can be computed to be sent for 60, which is needed at the end.
ScheduleProblem makeEitherDelay() {
  ScheduleProblem problem;
  auto add = [&](const ScheduleTask &task, int after) {
    int next = problem.addTask(task);
    if (after >= 0)
      problem.addDependence(after, next);
    return next;
  };
  ScheduleTask exchange =
      collective(100, /*channel=*/0, /*link=*/0, TaskRole::Activation);
  int last = add(exchange, add(compute(10), -1));
  int gradient = problem.addTask(compute(50));
  problem.addDependence(last, gradient);
  last = add(exchange, add(compute(10), last));
  last = add(compute(10), last);
  int sum = add(collective(60, 0, 0, TaskRole::Reduce), gradient);
  last = add(compute(10), add(collective(100, 0, 0), last));
  problem.addDependence(sum, last);
  problem.finalize();
  return problem;
}

TEST(PathWeightsTest, WhatOneResourceIsSparedTheOtherDoes) {
  ScheduleProblem problem = makeEitherDelay();
  TaskGraph graph(problem);
  int64_t fastest = FastestOrder(problem).get();
  // The path takes 340. The sum of 60 is in front of the second exchange, with
  // the computation of 50 before it, or after it, and delays the last
  // collective by all but 10.
  EXPECT_EQ(fastest, 390);
  int64_t bound = computeWeightedPath(graph, fastest + 1);
  EXPECT_GE(bound, 380);
  EXPECT_LE(bound, fastest);
}

TEST(PathWeightsTest, WhatIsTooLongToBeWeighedHasNoBound) {
  ScheduleProblem problem;
  constexpr int kNumTasks = 140;
  constexpr int64_t kLong = int64_t(1) << 40;
  for (int i = 0; i < kNumTasks; ++i) {
    ScheduleTask task;
    task.duration = kLong;
    problem.addTask(task);
    if (i > 0)
      problem.addDependence(i - 1, i);
  }
  problem.finalize();
  TaskGraph graph(problem);
  EXPECT_EQ(computeWeightedPath(graph, kNever), 0);
  EXPECT_EQ(computeLowerBound(graph).path, kNumTasks * kLong);
}

TEST(PathWeightsTest, NothingIsBoundedByNothing) {
  ScheduleProblem problem;
  problem.finalize();
  EXPECT_EQ(computeWeightedPath(TaskGraph(problem), kNever), 0);
  problem.addTask(ScheduleTask());
  problem.finalize();
  EXPECT_EQ(computeWeightedPath(TaskGraph(problem), kNever), 0);
}

} // namespace
