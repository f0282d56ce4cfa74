// SPDX-License-Identifier: Apache-2.0

// Small problems whose best schedule is computed by hand, and the bounds of
// problems with a known optimum.

#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

Schedule run(const ScheduleProblem &problem, SchedulePolicy policy,
             int64_t limit = 0) {
  ScheduleOptions options;
  options.policy = policy;
  options.memoryLimit = limit;
  Schedule schedule = makeSchedule(problem, options);
  EXPECT_STREQ(
      findFault(getScheduledProblem(problem, schedule), schedule.result.events),
      "");
  return schedule;
}

/// Two matmuls of 100, each with a gathered weight of 10 bytes: gathers of 60.
ScheduleProblem makeTwoMatmuls() {
  ScheduleProblem problem;
  for (int i = 0; i < 2; ++i) {
    int gather = problem.addTask(collective(60, 0));
    int weight = problem.addBuffer(10, gather);
    int matmul = problem.addTask(compute(100));
    problem.addReader(weight, matmul);
    if (i > 0)
      problem.addDependence(matmul - 2, matmul);
  }
  problem.fixedBytes = 5;
  problem.finalize();
  return problem;
}

TEST(ScheduleTest, SyncWaitsForEachCollective) {
  Schedule schedule = run(makeTwoMatmuls(), SchedulePolicy::Sync);
  EXPECT_EQ(schedule.result.time, 320);
  EXPECT_EQ(schedule.result.exposed, (std::vector<int64_t>{60, 0, 60, 0}));
  EXPECT_EQ(schedule.result.peakBytes, 15);
}

TEST(ScheduleTest, OnlyTheFirstGatherIsExposed) {
  for (SchedulePolicy policy : {SchedulePolicy::NextLayer,
                                SchedulePolicy::Greedy, SchedulePolicy::Best}) {
    Schedule schedule = run(makeTwoMatmuls(), policy);
    EXPECT_EQ(schedule.result.time, 260);
    EXPECT_EQ(schedule.result.exposed, (std::vector<int64_t>{60, 0, 0, 0}));
    EXPECT_EQ(schedule.result.peakBytes, 25);
    EXPECT_EQ(schedule.bound.get(), 260);
  }
}

TEST(ScheduleTest, MemoryForOneWeightExposesBothGathers) {
  for (SchedulePolicy policy : {SchedulePolicy::NextLayer,
                                SchedulePolicy::Greedy, SchedulePolicy::Best}) {
    Schedule schedule = run(makeTwoMatmuls(), policy, 24);
    EXPECT_TRUE(schedule.fits);
    EXPECT_EQ(schedule.result.time, 320);
    EXPECT_EQ(schedule.result.peakBytes, 15);
  }
}

/// Three layers: a gather of 10, its matmul of 100, and its gradient, which one
/// collective of 60 reduces to shards and another of 50 along other axes; then
/// an update of 10 for each.
ScheduleProblem makeReductionsInTwo() {
  ScheduleProblem problem;
  std::vector<int> reduced;
  int before = -1;
  for (int layer = 0; layer < 3; ++layer) {
    int gather = problem.addTask(collective(10, 0));
    int matmul = problem.addTask(compute(100));
    int shard = problem.addTask(collective(60, 1, -1, TaskRole::Reduce));
    int sum = problem.addTask(collective(50, 2, -1, TaskRole::Reduce));
    problem.addDependence(gather, matmul);
    problem.addDependence(matmul, shard);
    problem.addDependence(shard, sum);
    if (before >= 0)
      problem.addDependence(before, matmul);
    before = matmul;
    reduced.push_back(sum);
  }
  for (int sum : reduced)
    problem.addDependence(sum, problem.addTask(compute(10)));
  problem.finalize();
  return problem;
}

TEST(ScheduleTest, ReductionsThatFollowEachOtherStopNoMatmul) {
  // The last shard is there at 370, its sum at 420.
  for (SchedulePolicy policy : {SchedulePolicy::NextLayer,
                                SchedulePolicy::Greedy, SchedulePolicy::Best})
    EXPECT_EQ(run(makeReductionsInTwo(), policy).result.time, 430);
  EXPECT_EQ(run(makeReductionsInTwo(), SchedulePolicy::Sync).result.time, 690);
}

TEST(ScheduleTest, TooLittleMemorySaysHowMuchIsNeeded) {
  ScheduleProblem problem = makeTwoMatmuls();
  Schedule schedule = run(problem, SchedulePolicy::Best, 14);
  EXPECT_FALSE(schedule.fits);
  EXPECT_EQ(schedule.result.peakBytes, 15);
  EXPECT_EQ(getLiveBuffers(problem, schedule.result.events,
                           schedule.result.peakEvent),
            (std::vector<int>{0}));
  EXPECT_TRUE(run(problem, SchedulePolicy::Best, 15).fits);
}

/// x -> sum over ranks (50) -> y, and work of 40 that waits for nothing.
TEST(ScheduleTest, OtherWorkFillsTheWaitForASum) {
  ScheduleProblem problem;
  problem.addTask(compute(40));
  int x = problem.addTask(compute(10));
  int sum = problem.addTask(collective(50, 0, -1, TaskRole::Activation));
  int y = problem.addTask(compute(10));
  problem.addDependence(x, sum);
  problem.addDependence(sum, y);
  problem.finalize();
  EXPECT_EQ(run(problem, SchedulePolicy::Sync).result.time, 110);
  Schedule best = run(problem, SchedulePolicy::Best);
  EXPECT_EQ(best.result.time, 70);
  EXPECT_EQ(best.bound.get(), 70);
  EXPECT_EQ(best.result.exposed[sum], 10);
}

TEST(ScheduleTest, ALinkDoesOneThingAtATime) {
  ScheduleProblem problem;
  problem.addTask(collective(30, 0, 7));
  problem.addTask(collective(30, 1, 7));
  problem.addTask(collective(30, 2, 8));
  problem.addTask(collective(30, 3));
  problem.finalize();
  Schedule best = run(problem, SchedulePolicy::Best);
  EXPECT_EQ(best.result.time, 60);
  EXPECT_EQ(best.result.begin, (std::vector<int64_t>{0, 30, 0, 0}));
  EXPECT_EQ(best.bound.link, 60);
}

TEST(ScheduleTest, AGradientIsReducedBesideTheNextMatmul) {
  StepShape shape;
  ScheduleProblem problem = makeStep(shape);
  Schedule best = run(problem, SchedulePolicy::Best);
  // All collectives are hidden but the last reduction, after which nothing
  // but its update comes, and which the work before it hides but for 0 ns.
  EXPECT_EQ(best.result.time, best.bound.get());
}

TEST(ScheduleTest, SendBuffersDieAtTheWait) {
  ScheduleProblem problem;
  int gradient = problem.addBuffer(100, problem.addTask(compute(10)));
  int reduce = problem.addTask(collective(5, 0, -1, TaskRole::Reduce));
  problem.addReader(gradient, reduce);
  int shard = problem.addBuffer(10, reduce);
  int next = problem.addBuffer(50, problem.addTask(compute(10)));
  int other = problem.addTask(compute(10));
  problem.addReader(next, other);
  problem.addBuffer(60, other);
  problem.addReader(shard, problem.addTask(compute(1)));
  problem.finalize();
  Schedule best = run(problem, SchedulePolicy::Best);
  EXPECT_EQ(best.result.time, 31);
  // 100 + 10 and 50 while the reduction is under way; 10 + 50 + 60 after it.
  EXPECT_EQ(best.result.peakBytes, 160);
}

TEST(ScheduleTest, AKeptGatherTakesNoTime) {
  ScheduleProblem problem;
  int first = problem.addTask(collective(60, 0));
  int weight = problem.addBuffer(10, first);
  int forward = problem.addTask(compute(20));
  problem.addReader(weight, forward);
  ScheduleTask repeat = collective(60, 0);
  repeat.sameAs = first;
  int second = problem.addTask(repeat);
  int again = problem.addBuffer(10, second);
  int backward = problem.addTask(compute(20));
  problem.addReader(again, backward);
  problem.addDependence(forward, backward);
  problem.finalize();
  ScheduleProblem kept = problem.keepGathers({false, false, true, false});
  EXPECT_EQ(kept.getCommunicationTime(), 60);
  EXPECT_EQ(run(kept, SchedulePolicy::Sync).result.time, 100);
  EXPECT_EQ(run(kept, SchedulePolicy::Sync).result.peakBytes, 10);
  EXPECT_EQ(kept.getBuffers()[weight].readers,
            (std::vector<int>{forward, backward}));
  // Only who reads the data waits for it.
  EXPECT_TRUE(kept.predecessors(second).empty());
}

TEST(ScheduleTest, WhatIsGatheredAgainSoonIsKept) {
  // Four layers of one matmul each way, whose gathers take longer than all
  // else. There is memory for two weights: what the last layer gathered need
  // not be gathered again, though nothing is left over for gathers ahead.
  constexpr int kLayers = 4;
  ScheduleProblem problem;
  std::vector<int> gathers;
  int previous = -1;
  for (int i = 0; i < 2 * kLayers; ++i) {
    ScheduleTask gather = collective(60, 0, 0);
    if (i >= kLayers)
      gather.sameAs = gathers[2 * kLayers - 1 - i];
    gathers.push_back(problem.addTask(gather));
    int weight = problem.addBuffer(10, gathers.back());
    int matmul = problem.addTask(compute(20));
    problem.addReader(weight, matmul);
    if (previous >= 0)
      problem.addDependence(previous, matmul);
    previous = matmul;
  }
  problem.finalize();
  Schedule schedule = run(problem, SchedulePolicy::Best, 20);
  EXPECT_TRUE(schedule.kept[gathers[kLayers]]);
  EXPECT_LT(schedule.result.time, 2 * kLayers * 60);
  EXPECT_LE(schedule.result.peakBytes, 20);
}

TEST(ScheduleBoundTest, CollectivesBetweenLayersCannotBeHidden) {
  // Two matmuls side by side, then a sum, three times: the sums are exposed,
  // and both matmuls are needed before each.
  ScheduleProblem problem;
  int last = -1;
  for (int i = 0; i < 3; ++i) {
    int a = problem.addTask(compute(100));
    int b = problem.addTask(compute(100));
    int sum = problem.addTask(collective(50, 0, -1, TaskRole::Activation));
    for (int matmul : {a, b}) {
      if (last >= 0)
        problem.addDependence(last, matmul);
      problem.addDependence(matmul, sum);
    }
    last = sum;
  }
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  EXPECT_EQ(bound.compute, 600);
  EXPECT_EQ(bound.link, 150);
  EXPECT_EQ(bound.path, 450);
  EXPECT_EQ(bound.headsAndTails, 750);
  EXPECT_EQ(run(problem, SchedulePolicy::Best).result.time, 750);
}

TEST(ScheduleBoundTest, ALongTaskFillsOneGapOfAChainOnly) {
  // Three matmuls with an exchange after each of the first two, and a long one
  // that could be cut in two for the bounds of one resource.
  ScheduleProblem problem;
  int last = -1;
  for (int i = 0; i < 5; ++i) {
    int next = problem.addTask(
        i % 2 == 0 ? compute(100)
                   : collective(50, 0, -1, TaskRole::Activation));
    if (last >= 0)
      problem.addDependence(last, next);
    last = next;
  }
  problem.addTask(compute(400));
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  EXPECT_EQ(bound.headsAndTails, 700);
  EXPECT_EQ(bound.workAndWaits, 750);
  EXPECT_EQ(run(problem, SchedulePolicy::Best).result.time, 750);
}

TEST(ScheduleBoundTest, AGatheredPhaseInFrontOfAComputedOneCountsWhole) {
  // Ten gathers of 100 before matmuls of 10, then ten matmuls of 100.
  ScheduleProblem problem;
  for (int i = 0; i < 10; ++i) {
    int gather = problem.addTask(collective(100, 0));
    int matmul = problem.addTask(compute(10));
    problem.addDependence(gather, matmul);
    if (i > 0)
      problem.addDependence(matmul - 2, matmul);
  }
  for (int i = 0; i < 10; ++i) {
    int matmul = problem.addTask(compute(100));
    problem.addDependence(matmul - 1, matmul);
  }
  problem.finalize();
  EXPECT_EQ(computeLowerBound(problem).get(), 2010);
  EXPECT_EQ(run(problem, SchedulePolicy::Best).result.time, 2010);
}

} // namespace
