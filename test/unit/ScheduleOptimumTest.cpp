// SPDX-License-Identifier: Apache-2.0

// Schedules of small random problems against the best of all orders, in time
// and in memory, and under limits that program order does not keep.

#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

#include <limits>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

Schedule run(const ScheduleProblem &problem, SchedulePolicy policy,
             int64_t limit, bool isLean = false) {
  ScheduleOptions options;
  options.policy = policy;
  options.memoryLimit = limit;
  options.isLean = isLean;
  return makeSchedule(problem, options);
}

/// The time of the fastest of all orders, each with its waits as late as
/// possible.
class FastestOrder {
public:
  explicit FastestOrder(const ScheduleProblem &problem)
      : problem(problem), isDone(problem.size(), false),
        end(problem.size(), 0) {}

  int64_t get() {
    go(0, 0, std::vector<int64_t>(problem.getNumResources(), 0));
    return least;
  }

private:
  void go(int count, int64_t now, const std::vector<int64_t> &freeAt) {
    if (count == problem.size()) {
      for (int64_t one : end)
        now = std::max(now, one);
      least = std::min(least, now);
      return;
    }
    for (int i = 0; i < problem.size(); ++i) {
      bool isReady = !isDone[i];
      int64_t begin = now;
      for (int before : problem.predecessors(i)) {
        isReady = isReady && isDone[before];
        begin = std::max(begin, end[before]);
      }
      if (!isReady || begin >= least)
        continue;
      std::vector<int64_t> nextFree = freeAt;
      int64_t &free = nextFree[problem.resource(i)];
      end[i] = free = std::max(begin, free) + problem.task(i).duration;
      isDone[i] = true;
      go(count + 1, problem.task(i).isCollective() ? begin : end[i], nextFree);
      isDone[i] = false;
    }
  }

  const ScheduleProblem &problem;
  std::vector<bool> isDone;
  std::vector<int64_t> end;
  int64_t least = std::numeric_limits<int64_t>::max();
};

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

TEST(ScheduleOptimumTest, NoBoundIsAboveTheFastestOrder) {
  // In how many problems each of the bounds is the only one that is reached.
  int numByWaits = 0, numReached = 0;
  constexpr int kNumProblems = 10000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    int size = 4 + static_cast<int>(seed % 5);
    ScheduleProblem problem = seed % 4 == 0
                                  ? makeRandomProblem(seed + 40000, size)
                                  : makeRandomChain(seed, size);
    int64_t fastest = FastestOrder(problem).get();
    ScheduleBound bound = computeLowerBound(problem);
    ASSERT_LE(bound.compute, fastest) << seed;
    ASSERT_LE(bound.link, fastest) << seed;
    ASSERT_LE(bound.path, fastest) << seed;
    ASSERT_LE(bound.headsAndTails, fastest) << seed;
    ASSERT_LE(bound.workAndWaits, fastest) << seed;
    numReached += bound.get() == fastest;
    numByWaits += bound.workAndWaits > bound.headsAndTails;
  }
  EXPECT_GT(numByWaits, 100);
  EXPECT_GT(numReached, kNumProblems / 2);
}

TEST(ScheduleOptimumTest, LeastMemoryIsThatOfTheBestOrder) {
  int numLess = 0, numMissed = 0;
  constexpr int kNumProblems = 100;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed, 4 + seed % 8);
    int64_t least = getLeastBytes(problem);
    int64_t program = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
    int64_t lean = run(problem, SchedulePolicy::Sync, 0, true).result.peakBytes;
    ASSERT_GE(lean, least) << seed;
    ASSERT_LE(lean, program) << seed;
    ASSERT_LE(computeLeastBytes(problem), least) << seed;
    numLess += lean < program;
    numMissed += lean > least;
  }
  EXPECT_GT(numLess, kNumProblems / 4);
  EXPECT_LE(numMissed, kNumProblems / 100);
}

TEST(ScheduleOptimumTest, ALimitBelowProgramOrderIsKept) {
  int numBelow = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed, 5 + seed % 30);
    int64_t program = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
    int64_t lean = run(problem, SchedulePolicy::Sync, 0, true).result.peakBytes;
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
    int64_t lean = run(problem, SchedulePolicy::Sync, 0, true).result.peakBytes;
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
