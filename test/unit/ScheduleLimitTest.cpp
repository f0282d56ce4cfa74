// SPDX-License-Identifier: Apache-2.0

// The bound on schedules that keep to a limit of memory, against the fastest of
// all lines of events.

#include "LimitedBound.h"
#include "ScheduleExamples.h"

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

TEST(ScheduleLimitTest, NoBoundOfPartsIsAboveTheFastestLine) {
  LimitedBoundCount count;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = seed % 4 == 0
                                  ? makeRandomProblem(seed, 3 + seed / 4 % 3)
                                  : makeRandomLayers(seed);
    int64_t lean = getLeanBytes(problem);
    int64_t limit = lean + lean * static_cast<int64_t>(seed % 3) / 10;
    count.add(problem, limit, computeLengthOfPartsWithin(problem, limit));
  }
  EXPECT_GT(count.numAbove, 25);
  EXPECT_GT(count.numReached, 20);
}

TEST(ScheduleLimitTest, NoBoundByTheOrderWithinIsAboveTheFastestLine) {
  LimitedBoundCount count;
  int numHigher = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomLayers(seed);
    int64_t lean = getLeanBytes(problem);
    ScheduleOptions options;
    options.policy = SchedulePolicy::Best;
    options.memoryLimit = lean + lean * static_cast<int64_t>(seed % 3) / 10;
    Schedule schedule = makeSchedule(problem, options);
    problem = getScheduledProblem(problem, schedule);
    schedule.kept.assign(problem.size(), false);
    int64_t limit = std::max(options.memoryLimit, schedule.result.peakBytes);
    int64_t bound = getBoundWithin(problem, schedule, limit);
    count.add(problem, limit, bound);
    numHigher += bound > std::max({schedule.bound.get(),
                                   computeWorkAndWaitsWithin(problem, limit),
                                   computeLengthOfPartsWithin(problem, limit)});
  }
  EXPECT_GT(count.numAbove, 15);
  EXPECT_GT(count.numReached, 5);
  EXPECT_GT(numHigher, 5);
}

TEST(ScheduleLimitTest, WhatHasNoMemoryAheadComesAfter) {
  // Much is alive beside the second of three computations. The last needs what
  // a gather brings.
  ScheduleProblem problem;
  ScheduleTask compute, gather;
  compute.duration = 10;
  gather.duration = 100;
  gather.channel = gather.link = 0;
  gather.role = TaskRole::Gather;
  int first = problem.addTask(compute);
  int weight = problem.addBuffer(60, problem.addTask(gather));
  int large = problem.addTask(compute), last = problem.addTask(compute);
  problem.addReader(problem.addBuffer(1000, first), large);
  problem.addReader(problem.addBuffer(0, large), last);
  problem.addReader(weight, last);
  problem.finalize();
  EXPECT_EQ(FastestLine(problem, 1060).get(), 100 + 10);
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1060), 100 + 10);
  EXPECT_EQ(FastestLine(problem, 1059).get(), 10 + 10 + 100 + 10);
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1059), 10 + 10 + 100 + 10);
}

TEST(ScheduleLimitTest, WhereMostIsAliveIsAlwaysACut) {
  // As above, in the middle of a path that is longer than there are cuts.
  constexpr int kLength = 200, kLarge = 101;
  ScheduleProblem problem;
  ScheduleTask compute, gather;
  compute.duration = 10;
  gather.duration = 100;
  gather.channel = gather.link = 0;
  gather.role = TaskRole::Gather;
  int weight = problem.addBuffer(60, problem.addTask(gather));
  int previous = problem.addTask(compute);
  for (int i = 1; i < kLength; ++i) {
    int next = problem.addTask(compute);
    int64_t bytes = i == kLarge ? 1000 : i == kLarge + 1 ? 1 : 0;
    problem.addReader(problem.addBuffer(bytes, previous), next);
    if (i == kLarge + 1)
      problem.addReader(weight, next);
    previous = next;
  }
  problem.finalize();
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1061), kLength * 10);
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1060), kLength * 10 + 100);
}

TEST(ScheduleLimitTest, WhatHasNoMemoryToBePutOffComesBefore) {
  // Much is alive beside the second of three computations. What a reduction
  // reads would be as well until it is done.
  ScheduleProblem problem;
  ScheduleTask compute, sum;
  compute.duration = 10;
  sum.duration = 100;
  sum.channel = sum.link = 0;
  sum.role = TaskRole::Reduce;
  int first = problem.addTask(compute), reduce = problem.addTask(sum);
  int large = problem.addTask(compute), last = problem.addTask(compute);
  problem.addReader(problem.addBuffer(60, first), reduce);
  problem.addReader(problem.addBuffer(500, first), large);
  problem.addReader(problem.addBuffer(500, large), last);
  problem.finalize();
  EXPECT_EQ(FastestLine(problem, 1060).get(), 10 + 100);
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1060), 10 + 100);
  EXPECT_EQ(FastestLine(problem, 1059).get(), 10 + 100 + 10 + 10);
  EXPECT_EQ(computeLengthOfPartsWithin(problem, 1059), 10 + 100 + 10 + 10);
}

TEST(ScheduleLimitTest, AScheduleIsSearchedForOnce) {
  KnownSchedules known;
  ScheduleOptions options;
  options.known = &known;
  ScheduleProblem problem = makeRandomProblem(700, 20);
  Schedule first = makeSchedule(problem, options);
  Schedule again = makeSchedule(problem, options);
  EXPECT_EQ(first.result.events, again.result.events);
  EXPECT_EQ(first.bound.get(), again.bound.get());
  EXPECT_EQ(known.getNumSchedules(), 1u);
  // Of another problem, or with other options, it is another one.
  options.memoryLimit = first.result.peakBytes;
  makeSchedule(problem, options);
  EXPECT_EQ(known.getNumSchedules(), 2u);
  options.isThorough = false;
  makeSchedule(problem, options);
  EXPECT_EQ(known.getNumSchedules(), 3u);
  ScheduleProblem longer;
  for (ScheduleTask task : problem.getTasks()) {
    task.duration += 1;
    longer.addTask(task);
  }
  longer.finalize();
  Schedule other = makeSchedule(longer, options);
  EXPECT_EQ(known.getNumSchedules(), 4u);
  EXPECT_EQ(other.result.events.size(),
            makeSchedule(longer, {}).result.events.size());
  // What takes no time to find is not remembered.
  options.isQuick = true;
  makeSchedule(problem, options);
  EXPECT_EQ(known.getNumSchedules(), 4u);
}

TEST(ScheduleLimitTest, AnOrderThatNeedsLittleIsLookedForOnce) {
  KnownSchedules known;
  ScheduleOptions options;
  options.known = &known;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed + 700, 20);
    int64_t lean = getLeanBytes(problem);
    for (int64_t limit : {lean - 1, lean, lean + 1}) {
      options.memoryLimit = limit;
      Schedule schedule = makeSchedule(problem, options);
      ScheduleOptions alone = options;
      alone.known = nullptr;
      Schedule again = makeSchedule(problem, alone);
      EXPECT_EQ(schedule.result.events, again.result.events);
      EXPECT_EQ(schedule.fits, limit >= lean);
    }
    EXPECT_EQ(known.getNumLeanOrders(), seed + 1);
  }
  // What differs in bytes alone is another problem.
  ScheduleProblem first, second;
  for (ScheduleProblem *problem : {&first, &second}) {
    int task = problem->addTask({});
    problem->addReader(problem->addBuffer(problem == &first ? 1 : 2, task),
                       problem->addTask({}));
    problem->finalize();
    known.getLeanOrder(*problem);
  }
  EXPECT_EQ(known.getNumLeanOrders(), 12u);
}

} // namespace
