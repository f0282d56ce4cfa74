// SPDX-License-Identifier: Apache-2.0

// Schedules of small random problems against the best of all orders, in time
// and in memory, and under limits that program order does not keep.

#include "LimitedBound.h"
#include "ScheduleExamples.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

Schedule run(const ScheduleProblem &problem, SchedulePolicy policy,
             int64_t limit) {
  ScheduleOptions options;
  options.policy = policy;
  options.memoryLimit = limit;
  return makeSchedule(problem, options);
}

/// The bytes of the order that needs least: by sets of tasks that are done.
int64_t getLeastBytes(const ScheduleProblem &problem) {
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  int numSets = 1 << problem.size();
  std::vector<int64_t> least(numSets, std::numeric_limits<int64_t>::max());
  least[0] = problem.fixedBytes;
  auto isIn = [](int set, int task) { return (set >> task & 1) != 0; };
  for (int set = 0; set < numSets; ++set) {
    if (least[set] == std::numeric_limits<int64_t>::max())
      continue;
    int64_t live = problem.fixedBytes;
    for (const ScheduleBuffer &buffer : buffers) {
      bool isRead = false;
      for (int reader : buffer.readers)
        isRead |= !isIn(set, reader);
      live += isIn(set, buffer.producer) && isRead ? buffer.bytes : 0;
    }
    for (int task = 0; task < problem.size(); ++task) {
      bool isReady = !isIn(set, task);
      for (int before : problem.predecessors(task))
        isReady = isReady && isIn(set, before);
      if (!isReady)
        continue;
      int64_t bytes = live;
      for (int output : problem.outputs(task))
        bytes += buffers[output].bytes;
      int64_t &next = least[set | 1 << task];
      next = std::min(next, std::max(least[set], bytes));
    }
  }
  return least.back();
}

TEST(ScheduleOptimumTest, WaitingALittleMayBeFaster) {
  // A long computation that is ready at once, and a short one in front of a
  // chain of collectives.
  ScheduleProblem problem;
  ScheduleTask task;
  task.duration = 944;
  problem.addTask(task);
  task.duration = 81;
  task.channel = 0;
  task.role = TaskRole::Activation;
  int first = problem.addTask(task);
  task.channel = 1;
  task.duration = 686;
  problem.addDependence(first, problem.addTask(task));
  problem.finalize();
  EXPECT_EQ(run(problem, SchedulePolicy::Best, 0).result.time, 81 + 944);
}

TEST(ScheduleOptimumTest, RandomProblemsAreNearTheFastestOrder) {
  double sum = 0, worst = 0;
  constexpr int kNumProblems = 200;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed + 20000, 3 + seed % 6);
    int64_t fastest = FastestOrder(problem).get();
    Schedule best = run(problem, SchedulePolicy::Best, 0);
    ASSERT_GE(best.result.time, fastest) << seed;
    ASSERT_LE(best.bound.get(), fastest) << seed;
    double over = fastest == 0 ? 0
                               : static_cast<double>(best.result.time) /
                                         static_cast<double>(fastest) -
                                     1;
    sum += over;
    worst = std::max(worst, over);
  }
  EXPECT_LE(sum / kNumProblems, 0.005);
  EXPECT_LE(worst, 0.10);
}

TEST(ScheduleOptimumTest, SmallProblemsAreNearTheFastestLineWithinALimit) {
  double sum = 0, worst = 0;
  int count = 0, numTight = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed + 70000, 3 + seed % 4);
    int64_t lean = getLeanBytes(problem);
    int64_t unlimited = FastestOrder(problem).get();
    for (int64_t limit : {lean, lean + lean / 5}) {
      int64_t fastest = FastestLine(problem, limit).get();
      int64_t best = run(problem, SchedulePolicy::Best, limit).result.time;
      ASSERT_GE(best, fastest) << seed;
      ASSERT_GE(fastest, unlimited) << seed;
      double over =
          fastest == 0
              ? 0
              : static_cast<double>(best) / static_cast<double>(fastest) - 1;
      sum += over;
      worst = std::max(worst, over);
      ++count;
      numTight += fastest > unlimited;
    }
  }
  EXPECT_LE(sum / count, 0.005);
  EXPECT_LE(worst, 0.10);
  EXPECT_GT(numTight, 20);
}

TEST(ScheduleOptimumTest, NoBoundIsAboveTheFastestOrder) {
  // In how many problems each of the bounds is the only one that is reached.
  int numByWaits = 0, numByPaths = 0, numByOrders = 0, numReached = 0;
  constexpr int kNumProblems = 10000;
  constexpr int64_t kEffort = 10000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    int size = 4 + static_cast<int>(seed % 5);
    ScheduleProblem problem = seed % 4 == 0
                                  ? makeRandomProblem(seed + 40000, size)
                              : seed % 4 == 1 ? makeRandomDelays(seed, size + 1)
                              : seed % 4 == 2 ? makeRandomTwins(seed, size + 1)
                                              : makeRandomChain(seed, size);
    int64_t fastest = FastestOrder(problem).get();
    ScheduleBound bound = computeLowerBound(problem);
    ASSERT_LE(bound.compute, fastest) << seed;
    ASSERT_LE(bound.link, fastest) << seed;
    ASSERT_LE(bound.path, fastest) << seed;
    ASSERT_LE(bound.headsAndTails, fastest) << seed;
    ASSERT_LE(bound.workAndWaits, fastest) << seed;
    ASSERT_LE(bound.twoPaths, fastest) << seed;
    numReached += bound.get() == fastest;
    numByWaits += bound.workAndWaits > bound.headsAndTails;
    numByPaths +=
        bound.twoPaths > std::max(bound.workAndWaits, bound.headsAndTails);
    int64_t before = bound.get();
    raiseByEitherOrder(problem, /*enough=*/fastest + 1, kEffort, bound);
    ASSERT_LE(bound.get(), fastest) << seed;
    numByOrders += bound.get() > before;
  }
  EXPECT_GT(numByOrders, 100);
  EXPECT_GT(numByWaits, 100);
  EXPECT_GT(numByPaths, 50);
  EXPECT_GT(numReached, kNumProblems / 2);
}

TEST(ScheduleOptimumTest, NoBoundOfEndsIsAboveTheFastestOrder) {
  int numHighest = 0, numReached = 0;
  constexpr int kNumProblems = 4000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    ScheduleProblem problem =
        seed % 8 == 0   ? makeRandomProblem(seed + 90000, 8)
        : seed % 8 == 1 ? makeRandomDelays(seed + 90000, 8)
        : seed % 8 == 2 ? makeRandomChain(seed + 90000, 8)
                        : makeRandomEnd(seed, 6 + static_cast<int>(seed % 4));
    TaskGraph graph(problem), reversed = graph.reversed();
    std::vector<int64_t> heads = computeHeads(graph),
                         tails = computeHeads(reversed);
    int64_t ends = std::max(computeWorkAndEnds(graph, heads, tails),
                            computeWorkAndEnds(reversed, tails, heads));
    int64_t fastest = FastestOrder(problem).get();
    ASSERT_LE(ends, fastest) << seed;
    int64_t others = std::max({getPreemptiveLength(graph, heads, tails),
                               computeWorkAndWaits(graph),
                               computeLengthOfParts(graph, heads)});
    numHighest += ends > others;
    numReached += ends > others && ends == fastest;
  }
  EXPECT_GT(numHighest, 100);
  EXPECT_GT(numReached, 50);
}

TEST(ScheduleOptimumTest, NoComputationIsBesideTwoCollectivesInARow) {
  // A long computation could hide either of two collectives: the second starts
  // only when the first was waited for.
  ScheduleProblem problem;
  ScheduleTask compute, collective;
  compute.duration = 10;
  collective.duration = 100;
  collective.channel = 0;
  collective.role = TaskRole::Activation;
  int before = problem.addTask(compute);
  int first = problem.addTask(collective), second = problem.addTask(collective);
  int after = problem.addTask(compute);
  compute.duration = 150;
  problem.addTask(compute);
  problem.addDependence(before, first);
  problem.addDependence(first, second);
  problem.addDependence(second, after);
  problem.finalize();
  EXPECT_EQ(FastestOrder(problem).get(), 10 + 150 + 100 + 10);
  EXPECT_EQ(computeLowerBound(problem).workAndWaits, 10 + 150 + 100 + 10);
}

TEST(ScheduleOptimumTest, TwoMicrobatchesAreNotBothAhead) {
  // Each has two sums on one link before its long computation. Whichever is
  // first, little can be computed until two sums are done, one after the other
  // and with a computation in between.
  ScheduleProblem problem;
  ScheduleTask compute, sum;
  compute.duration = 10;
  sum.duration = 60;
  sum.channel = sum.link = 0;
  sum.role = TaskRole::Activation;
  int last[] = {problem.addTask(compute), problem.addTask(compute)};
  auto addToBoth = [&](const ScheduleTask &task) {
    for (int &one : last) {
      int next = problem.addTask(task);
      problem.addDependence(one, next);
      one = next;
    }
  };
  addToBoth(sum);
  addToBoth(compute);
  addToBoth(sum);
  compute.duration = 150;
  addToBoth(compute);
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  EXPECT_EQ(bound.twoPaths, 340 + (10 + 60 + 10 + 60) - 30);
  EXPECT_LT(std::max(bound.headsAndTails, bound.workAndWaits), bound.twoPaths);
  EXPECT_LE(bound.twoPaths, FastestOrder(problem).get());
}

TEST(ScheduleOptimumTest, TwoMicrobatchesWaitForTheSameGathers) {
  // Gathers could be done in any order, but each layer needs one more. What the
  // one microbatch computes between two of them the other cannot add to.
  constexpr int64_t kGathers[] = {60, 60, 20, 20},
                    kComputations[] = {10, 10, 50, 150};
  ScheduleProblem problem;
  ScheduleTask compute, gather;
  gather.channel = gather.link = 0;
  gather.role = TaskRole::Gather;
  int last[] = {-1, -1};
  for (int i = 0; i < 4; ++i) {
    gather.duration = kGathers[i];
    compute.duration = kComputations[i];
    int weight = problem.addTask(gather);
    for (int &one : last) {
      int next = problem.addTask(compute);
      problem.addDependence(weight, next);
      if (one >= 0)
        problem.addDependence(one, next);
      one = next;
    }
  }
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  // All work, the first gather, and the second beside both first layers.
  EXPECT_EQ(bound.twoPaths, 440 + 60 + (60 - 2 * 10));
  EXPECT_EQ(run(problem, SchedulePolicy::Best, 0).result.time, bound.twoPaths);
}

TEST(ScheduleOptimumTest, WhatIsComputedMeanwhileNeedsItsGatherToo) {
  // As before, and more can be computed, but first it has to be gathered on the
  // same link: that is no help while both microbatches wait.
  ScheduleProblem problem;
  ScheduleTask compute, sum;
  compute.duration = 10;
  sum.duration = 60;
  sum.channel = sum.link = 0;
  sum.role = TaskRole::Activation;
  int last[] = {-1, -1};
  auto addToBoth = [&](const ScheduleTask &task) {
    for (int &one : last) {
      int next = problem.addTask(task);
      if (one >= 0)
        problem.addDependence(one, next);
      one = next;
    }
  };
  addToBoth(sum);
  addToBoth(compute);
  addToBoth(sum);
  compute.duration = 150;
  addToBoth(compute);
  int gather = problem.addTask(sum);
  compute.duration = 50;
  problem.addDependence(gather, problem.addTask(compute));
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  // As before: what is gathered takes no less than it lets be computed.
  EXPECT_EQ(bound.twoPaths, 370 + (60 + 60 + 10) - 20);
  EXPECT_LT(std::max(bound.headsAndTails, bound.workAndWaits), bound.twoPaths);
  EXPECT_LE(bound.twoPaths, FastestOrder(problem).get());
}

TEST(ScheduleOptimumTest, OfTwoReductionsOneIsTheFirst) {
  // Two gradients, each reduced for its update on the same link. Beside the
  // second reduction the first update can be computed; but not also what the
  // first one was beside.
  ScheduleProblem problem;
  ScheduleTask compute, reduce;
  reduce.duration = 30;
  reduce.channel = reduce.link = 0;
  reduce.role = TaskRole::Reduce;
  auto addBranch = [&](int64_t gradient, int64_t update) {
    compute.duration = gradient;
    int first = problem.addTask(compute), sum = problem.addTask(reduce);
    compute.duration = update;
    int last = problem.addTask(compute);
    problem.addDependence(first, sum);
    problem.addDependence(sum, last);
  };
  addBranch(20, 20);
  addBranch(40, 40);
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  EXPECT_LT(bound.get(), 20 + 40 + 30 + 40);
  raiseByEitherOrder(problem, /*enough=*/1000, /*effort=*/0, bound);
  EXPECT_LT(bound.get(), 20 + 40 + 30 + 40);
  raiseByEitherOrder(problem, /*enough=*/1000, /*effort=*/1000, bound);
  EXPECT_EQ(bound.get(), 20 + 40 + 30 + 40);
  EXPECT_EQ(FastestOrder(problem).get(), bound.get());
  EXPECT_EQ(run(problem, SchedulePolicy::Best, 0).bound.get(), bound.get());
}

TEST(ScheduleOptimumTest, ALongGatherDelaysThePath) {
  // It is longer than all that is computed between two sums on its link, and
  // nothing else can be computed meanwhile.
  ScheduleProblem problem;
  ScheduleTask compute, sum;
  compute.duration = 10;
  sum.duration = 20;
  sum.channel = sum.link = 0;
  sum.role = TaskRole::Activation;
  int last = problem.addTask(compute);
  auto addAfter = [&](const ScheduleTask &task) {
    int next = problem.addTask(task);
    problem.addDependence(last, next);
    last = next;
  };
  for (int i = 0; i < 3; ++i) {
    addAfter(sum);
    addAfter(compute);
  }
  sum.duration = 45;
  int gather = problem.addTask(sum);
  addAfter(compute);
  problem.addDependence(gather, last);
  problem.finalize();
  // 10 ns of the gather are beside what is computed between two sums.
  EXPECT_EQ(FastestOrder(problem).get(), 5 * 10 + 3 * 20 + 45 - 10);
  EXPECT_EQ(computeLowerBound(problem).workAndWaits, 5 * 10 + 3 * 20 + 45 - 10);
}

TEST(ScheduleOptimumTest, OnePartWaitsForGathersTheNextForSums) {
  // Three gathers with nothing beside them; and after all of them a long
  // computation that could hide either of two sums, but not both.
  ScheduleProblem problem;
  ScheduleTask compute, collective;
  compute.duration = 10;
  collective.duration = 30;
  collective.channel = collective.link = 0;
  collective.role = TaskRole::Gather;
  std::vector<int> gathers;
  for (int i = 0; i < 3; ++i)
    gathers.push_back(problem.addTask(collective));
  int before = problem.addTask(compute);
  for (int gather : gathers)
    problem.addDependence(gather, before);
  collective.duration = 100;
  collective.channel = collective.link = 1;
  collective.role = TaskRole::Activation;
  int first = problem.addTask(collective), second = problem.addTask(collective);
  int after = problem.addTask(compute);
  compute.duration = 150;
  int beside = problem.addTask(compute);
  problem.addDependence(before, first);
  problem.addDependence(before, beside);
  problem.addDependence(first, second);
  problem.addDependence(second, after);
  problem.finalize();
  ScheduleBound bound = computeLowerBound(problem);
  EXPECT_LT(std::max(bound.headsAndTails, bound.twoPaths), bound.workAndWaits);
  EXPECT_EQ(bound.workAndWaits, 3 * 30 + 10 + 150 + 100 + 10);
  EXPECT_EQ(FastestOrder(problem).get(), bound.workAndWaits);
}

TEST(ScheduleOptimumTest, LongWorkThatNothingWaitsForDelaysNoExchange) {
  // Layers of experts: gathers, exchanges and reductions share a link that has
  // more to do than the compute stream. What takes longest can be computed in
  // the middle, but only its own reduction waits for it.
  constexpr int kNumLayers = 130;
  constexpr int64_t kGather = 4, kExchange = 12, kReduce = 7;
  ScheduleProblem problem;
  auto add = [&](int64_t duration, TaskRole role, std::vector<int> before) {
    ScheduleTask task;
    task.duration = duration;
    task.role = role;
    if (role != TaskRole::Compute)
      task.channel = task.link = 0;
    int next = problem.addTask(task);
    for (int one : before)
      problem.addDependence(one, next);
    return next;
  };
  std::vector<int> last;
  auto addLayer = [&] {
    last.push_back(add(kGather, TaskRole::Gather, {}));
    last = {add(4, TaskRole::Compute, last)};
    last = {add(kExchange, TaskRole::Activation, last)};
  };
  for (int i = 0; i < kNumLayers; ++i)
    addLayer();
  last = {add(20, TaskRole::Compute, last)};
  int longest = add(282, TaskRole::Compute, last);
  add(kReduce, TaskRole::Reduce, {longest});
  for (int i = 0; i < kNumLayers; ++i) {
    addLayer();
    int gradient = add(11, TaskRole::Compute, last);
    add(kReduce, TaskRole::Reduce, {gradient});
  }
  problem.finalize();
  Schedule best = run(problem, SchedulePolicy::Best, 0);
  EXPECT_LE(best.result.time - best.bound.get(), best.bound.get() / 200);
}

/// A chain of computations and sums, with something in the middle beside which
/// much is alive, and computations that could be done beside any of the sums
/// and are read by what comes last.
ScheduleProblem makeRandomAhead(uint64_t seed) {
  std::mt19937 random(seed);
  auto upTo = [&](int most) { return 1 + static_cast<int>(random() % most); };
  ScheduleProblem problem;
  std::vector<int> chain, ahead;
  auto add = [&](int64_t duration, bool isCollective) {
    ScheduleTask task;
    task.duration = duration;
    task.channel = task.link = isCollective ? 0 : -1;
    task.role = isCollective ? TaskRole::Activation : TaskRole::Compute;
    return problem.addTask(task);
  };
  for (int count = upTo(2); count > 0; --count)
    ahead.push_back(add(upTo(30), random() % 5 == 0));
  for (bool isSum : {false, true, false, false})
    chain.push_back(add(upTo(40), isSum));
  for (size_t i = 1; i < chain.size(); ++i)
    problem.addReader(problem.addBuffer(upTo(i == 3 ? 200 : 50), chain[i - 1]),
                      chain[i]);
  // What is gathered again.
  int again = random() % 2 == 0 ? add(upTo(20), true) : -1;
  int last = add(upTo(20), false);
  for (int i : ahead)
    problem.addReader(problem.addBuffer(upTo(60), i), last);
  if (again >= 0) {
    problem.addReader(problem.addBuffer(upTo(60), chain[0]), again);
    problem.addReader(problem.addBuffer(upTo(60), again), last);
  }
  problem.addDependence(chain.back(), last);
  problem.finalize();
  return problem;
}

TEST(ScheduleOptimumTest, NoBoundWithinALimitIsAboveTheFastestLine) {
  LimitedBoundCount count;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = seed % 6 == 0
                                  ? makeRandomProblem(seed, 3 + seed / 6 % 3)
                                  : makeRandomAhead(seed);
    int64_t lean = getLeanBytes(problem);
    int64_t limit = lean + lean * int64_t(seed % 3) / 8;
    count.add(problem, limit, computeWorkAndWaitsWithin(problem, limit));
  }
  EXPECT_GT(count.numAbove, 50);
  EXPECT_GT(count.numReached, 10);
}

TEST(ScheduleOptimumTest, LittleCanBeDoneAheadInLittleMemory) {
  // Each of two computations that the last task needs could hide a sum, but
  // there is room for the result of one of them only beside the large task.
  ScheduleProblem problem;
  ScheduleTask compute, sum;
  compute.duration = 10;
  sum.duration = 100;
  sum.channel = sum.link = 0;
  sum.role = TaskRole::Activation;
  int ahead[] = {-1, -1};
  for (int &task : ahead) {
    compute.duration = 100;
    task = problem.addTask(compute);
  }
  compute.duration = 10;
  int before = problem.addTask(compute);
  for (int i = 0; i < 2; ++i)
    for (const ScheduleTask &task : {sum, compute}) {
      int next = problem.addTask(task);
      problem.addDependence(before, next);
      before = next;
    }
  int after = problem.addTask(compute), last = problem.addTask(compute);
  problem.addReader(problem.addBuffer(1000, before), after);
  problem.addDependence(after, last);
  for (int task : ahead)
    problem.addReader(problem.addBuffer(60, task), last);
  problem.finalize();
  EXPECT_EQ(FastestLine(problem, 1120).get(), 250);
  EXPECT_EQ(computeWorkAndWaitsWithin(problem, 1120), 250);
  EXPECT_EQ(FastestLine(problem, 1060).get(), 350);
  EXPECT_EQ(computeWorkAndWaitsWithin(problem, 1060), 350);
  Schedule best = run(problem, SchedulePolicy::Best, 1060);
  EXPECT_EQ(getBoundWithin(problem, best, 1060), best.result.time);
}

TEST(ScheduleOptimumTest, LeastMemoryIsThatOfTheBestOrder) {
  int numLess = 0, numMissed = 0;
  constexpr int kNumProblems = 100;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed, 4 + seed % 8);
    int64_t least = getLeastBytes(problem);
    int64_t program = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
    int64_t lean = getLeanBytes(problem);
    ASSERT_GE(lean, least) << seed;
    ASSERT_LE(lean, program) << seed;
    ASSERT_LE(computeLeastBytes(problem), least) << seed;
    numLess += lean < program;
    numMissed += lean > least;
  }
  EXPECT_GT(numLess, kNumProblems / 4);
  EXPECT_LE(numMissed, kNumProblems / 100);
}

TEST(ScheduleOptimumTest, SmallBuffersAreMovedAmongManyLargeOnes) {
  // A chain keeps many large values over its peak, where something that is not
  // of the chain is read as well. Only the small value that program order makes
  // first can be made after the peak.
  constexpr int kNumLarge = 20;
  ScheduleProblem problem;
  int small = problem.addBuffer(50, problem.addTask({}));
  std::vector<int> large;
  int last = -1;
  auto addNext = [&] {
    int next = problem.addTask({});
    if (last >= 0)
      problem.addDependence(last, next);
    return last = next;
  };
  for (int i = 0; i < kNumLarge; ++i)
    large.push_back(problem.addBuffer(100, addNext()));
  int first = problem.addBuffer(60, addNext());
  int second = problem.addBuffer(60, last);
  int beside = problem.addTask({});
  problem.addReader(first, beside);
  problem.addReader(second, addNext());
  problem.addReader(small, last);
  for (int i = kNumLarge; i-- > 0;)
    problem.addReader(large[i], addNext());
  problem.finalize();
  EXPECT_EQ(run(problem, SchedulePolicy::Sync, 0).result.peakBytes,
            100 * kNumLarge + 60 + 60 + 50);
  EXPECT_EQ(getLeanBytes(problem), 100 * kNumLarge + 60 + 60);
}

TEST(ScheduleOptimumTest, ALimitBelowProgramOrderIsKept) {
  int numBelow = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed, 5 + seed % 30);
    int64_t program = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
    int64_t lean = getLeanBytes(problem);
    if (lean == program)
      continue;
    ++numBelow;
    for (SchedulePolicy policy :
         {SchedulePolicy::Sync, SchedulePolicy::NextLayer,
          SchedulePolicy::Greedy, SchedulePolicy::Best})
      for (int64_t limit : {lean, (lean + program) / 2, program - 1}) {
        Schedule schedule = run(problem, policy, limit);
        ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
        EXPECT_TRUE(schedule.fits);
        EXPECT_LE(schedule.result.peakBytes, limit);
        EXPECT_STREQ(findFault(scheduled, schedule.result.events), "");
        ScheduleResult again = replay(scheduled, schedule.result.events);
        EXPECT_EQ(again.time, schedule.result.time);
        EXPECT_EQ(again.peakBytes, schedule.result.peakBytes);
        EXPECT_EQ(again.exposed, schedule.result.exposed);
        EXPECT_FALSE(run(problem, policy, lean - 1).fits);
      }
  }
  EXPECT_GT(numBelow, 12);
}

TEST(ScheduleOptimumTest, BestIsFastestAtEachLimit) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed + 500, 24);
    int64_t lean = getLeanBytes(problem);
    for (int step = 0; step < 6; ++step) {
      int64_t limit = lean + lean * step / 6;
      int64_t best = run(problem, SchedulePolicy::Best, limit).result.time;
      for (SchedulePolicy policy :
           {SchedulePolicy::Sync, SchedulePolicy::NextLayer,
            SchedulePolicy::Greedy})
        EXPECT_LE(best, run(problem, policy, limit).result.time) << limit;
    }
  }
}

} // namespace
