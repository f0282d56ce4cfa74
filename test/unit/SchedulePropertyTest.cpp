// SPDX-License-Identifier: Apache-2.0

// What holds for every schedule, on random problems and on steps: it is
// correct, within the limit, no faster than the bound, and the policies stand
// in their order.

#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

constexpr SchedulePolicy policies[] = {
    SchedulePolicy::Sync, SchedulePolicy::NextLayer, SchedulePolicy::Greedy,
    SchedulePolicy::Best};

Schedule run(const ScheduleProblem &problem, SchedulePolicy policy,
             int64_t limit) {
  ScheduleOptions options;
  options.policy = policy;
  options.memoryLimit = limit;
  return makeSchedule(problem, options);
}

/// Checks all policies under `limit`. Returns the time of the best.
int64_t check(const ScheduleProblem &problem, int64_t limit) {
  std::vector<int64_t> times;
  for (SchedulePolicy policy : policies) {
    SCOPED_TRACE(stringifySchedulePolicy(policy));
    Schedule schedule = run(problem, policy, limit);
    ScheduleProblem scheduled = getScheduledProblem(problem, schedule);
    const ScheduleResult &result = schedule.result;
    EXPECT_STREQ(findFault(scheduled, result.events), "");
    EXPECT_TRUE(schedule.fits);
    if (limit > 0) {
      EXPECT_LE(result.peakBytes, limit);
    }
    EXPECT_GE(result.time, computeLowerBound(scheduled).get());
    EXPECT_EQ(result.time,
              scheduled.getComputeTime() + result.getExposedTime());
    // What one policy needs does not depend on earlier runs.
    EXPECT_EQ(run(problem, policy, limit).result.events, result.events);
    times.push_back(result.time);
  }
  EXPECT_LE(times[3], times[0]);
  EXPECT_LE(times[3], times[1]);
  EXPECT_LE(times[3], times[2]);
  return times[3];
}

TEST(SchedulePropertyTest, RandomProblems) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed, 2 + seed % 90);
    int64_t least = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
    check(problem, 0);
    check(problem, least);
    check(problem, least + least / 4);
  }
}

TEST(SchedulePropertyTest, LessThanTheLeastNeverFits) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed, 40);
    ScheduleOptions lean;
    lean.policy = SchedulePolicy::Sync;
    lean.isLean = true;
    int64_t least = makeSchedule(problem, lean).result.peakBytes;
    Schedule schedule = run(problem, SchedulePolicy::Best, least - 1);
    EXPECT_FALSE(schedule.fits);
    EXPECT_EQ(schedule.result.peakBytes, least);
  }
}

TEST(SchedulePropertyTest, NeverWorseThanNextLayerAtItsMemory) {
  for (int64_t gather : {100, 700, 1500})
    for (int64_t activation : {0, 300, 900})
      for (bool sharesLink : {false, true}) {
        StepShape shape;
        shape.gather = gather;
        shape.activation = activation;
        shape.sharesLink = sharesLink;
        ScheduleProblem problem = makeStep(shape);
        Schedule peer = run(problem, SchedulePolicy::NextLayer, 0);
        EXPECT_LE(check(problem, peer.result.peakBytes), peer.result.time);
      }
}

TEST(SchedulePropertyTest, StepsWithThreeLayersOfWeightsAreNearTheBound) {
  for (int layers : {4, 12})
    for (int64_t gather : {200, 400, 900})
      for (int64_t activation : {0, 300}) {
        StepShape shape;
        shape.layers = layers;
        shape.gather = gather;
        shape.activation = activation;
        ScheduleProblem problem = makeStep(shape);
        int64_t least = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
        int64_t limit = least + 3 * shape.weights * shape.weightBytes;
        Schedule best = run(problem, SchedulePolicy::Best, limit);
        int64_t bound = best.bound.get();
        EXPECT_LE((best.result.time - bound) * 100, bound)
            << layers << " layers, gather " << gather << ", sum " << activation
            << ": " << best.result.time << " ns, bound " << bound << " ns";
      }
}

TEST(SchedulePropertyTest, StepsWithExpertsAreNearTheBound) {
  // In the second and third, exchanges turn up in another order than in the
  // schedule that foretells them.
  for (const ExpertShape &shape :
       {ExpertShape{8, 100, 5, 1000, 400, 215, 73, 150, 20000},
        ExpertShape{9, 394, 3, 273, 439, 526, 199, 276, 1482},
        ExpertShape{11, 330, 7, 246, 262, 362, 197, 225, 14106}}) {
    ScheduleProblem problem = makeExpertStep(shape);
    Schedule best = run(problem, SchedulePolicy::Best, 0);
    int64_t avoidable = best.getAvoidableTime();
    EXPECT_LE(avoidable * 1000, best.bound.get()) << shape.layers << " layers";
    EXPECT_LE(avoidable * 100, best.getHideableTime(problem))
        << shape.layers << " layers";
  }
}

/// A backward pass whose reductions and gathers, on one link, take longer than
/// its computations. Each layer waits for two exchanges on another link. What
/// is computed for `table` ns first only a reduction needs, and buffers that
/// are filled can be so at any time.
ScheduleProblem makeBackwardPass(int layers, int64_t table, int64_t gather) {
  ScheduleProblem problem;
  auto add = [&](int64_t duration, int channel, TaskRole role, int64_t bytes,
                 const std::vector<int> &inputs) {
    ScheduleTask task;
    task.duration = duration;
    task.channel = task.link = channel;
    task.role = role;
    int number = problem.addTask(task);
    for (int input : inputs)
      problem.addReader(input, number);
    return problem.addBuffer(bytes, number);
  };
  auto compute = [&](int64_t duration, const std::vector<int> &inputs) {
    return add(duration, -1, TaskRole::Compute, 1000, inputs);
  };
  auto reduce = [&](int64_t duration, int gradient) {
    add(duration, 0, TaskRole::Reduce, 0, {gradient});
  };
  int x = compute(100, {});
  reduce(10000, compute(table, {x}));
  for (int layer = 0; layer < layers; ++layer)
    for (int part = 0; part < 2; ++part) {
      x = add(400, 1, TaskRole::Activation, 1000, {x});
      for (int weight = 0; weight < 2; ++weight) {
        int part = add(5, -1, TaskRole::Compute, 100, {});
        int whole = add(gather, 0, TaskRole::Gather, 800, {part});
        int filled = add(10, -1, TaskRole::Compute, 2000, {});
        reduce(1500, compute(300, {x, filled}));
        x = compute(500, {x, whole});
      }
    }
  problem.finalize();
  return problem;
}

TEST(SchedulePropertyTest, LongWorkDoesNotKeepTheBusiestLinkWaiting) {
  ScheduleProblem problem = makeBackwardPass(50, 60000, 0);
  Schedule best = run(problem, SchedulePolicy::Best, 0);
  EXPECT_GT(problem.size(), 1000);
  EXPECT_LE(best.getAvoidableTime() * 100, best.bound.get())
      << best.result.time << " ns, bound " << best.bound.get() << " ns";
}

TEST(SchedulePropertyTest, WhatTheBusiestLinkBringsHasMemoryFirst) {
  ScheduleProblem problem = makeBackwardPass(50, 10000, 400);
  int64_t least = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
  int64_t limit = least + 20000;
  Schedule best = run(problem, SchedulePolicy::Best, limit);
  EXPECT_LE(best.result.peakBytes, limit);
  EXPECT_LE(best.getAvoidableTime() * 200, best.bound.get())
      << best.result.time << " ns, bound " << best.bound.get() << " ns";
}

TEST(SchedulePropertyTest, MoreMemoryNeverCostsTime) {
  StepShape shape;
  shape.activation = 400;
  ScheduleProblem problem = makeStep(shape);
  int64_t least = run(problem, SchedulePolicy::Sync, 0).result.peakBytes;
  int64_t before = run(problem, SchedulePolicy::Best, least).result.time;
  int64_t unlimited = run(problem, SchedulePolicy::Best, 0).result.time;
  EXPECT_LE(unlimited, before);
}

} // namespace
