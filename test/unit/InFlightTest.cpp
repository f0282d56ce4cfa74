// SPDX-License-Identifier: Apache-2.0

// Lines of events with few collectives in flight: right, as fast as before, and
// in no more memory.

#include "../../lib/Schedule/InFlight.h"
#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

int countInFlight(const std::vector<ScheduleEvent> &events) {
  int now = 0, most = 0;
  for (const ScheduleEvent &event : events) {
    now += (event.kind == ScheduleEvent::Start) -
           (event.kind == ScheduleEvent::Wait);
    most = std::max(most, now);
  }
  return most;
}

/// What comes of `events` with at most `most` in flight, which it is.
ScheduleResult limitAndReplay(const ScheduleProblem &problem,
                              const std::vector<ScheduleEvent> &events,
                              int most) {
  std::vector<ScheduleEvent> limited = limitInFlight(problem, events, most);
  EXPECT_STREQ(findFault(problem, limited), "");
  EXPECT_LE(countInFlight(limited), most);
  return replay(problem, std::move(limited));
}

std::vector<ScheduleEvent> scheduleGreedily(const ScheduleProblem &problem) {
  ScheduleOptions options;
  options.policy = SchedulePolicy::Greedy;
  return makeSchedule(problem, options).result.events;
}

/// A computation that depends on none of the gathers that start in front of it
/// does not wait for them, as it would if the oldest were waited for.
TEST(InFlight, ComputationDoesNotWaitForRoom) {
  constexpr int kNumGathers = 40;
  ScheduleProblem problem;
  for (int i = 0; i < kNumGathers; ++i)
    problem.addTask(collective(100, 0));
  problem.addTask(compute(100 * kNumGathers));
  problem.addTask(compute(1));
  for (int i = 0; i < kNumGathers; ++i)
    problem.addDependence(i, kNumGathers + 1);
  problem.finalize();
  std::vector<ScheduleEvent> events;
  for (int i = 0; i < kNumGathers; ++i)
    events.push_back({ScheduleEvent::Start, i});
  events.push_back({ScheduleEvent::Compute, kNumGathers});
  for (int i = 0; i < kNumGathers; ++i)
    events.push_back({ScheduleEvent::Wait, i});
  events.push_back({ScheduleEvent::Compute, kNumGathers + 1});
  ScheduleResult limited = limitAndReplay(problem, events, kNumGathers);
  EXPECT_EQ(limited.events, events);
  // The other half follows the computation, which is as long as all of them.
  limited = limitAndReplay(problem, events, kNumGathers / 2);
  EXPECT_EQ(limited.begin[kNumGathers], 0);
}

/// Each link has its part: one that is full does not keep another one waiting.
TEST(InFlight, LinksHaveTheirParts) {
  ScheduleProblem problem;
  for (int i = 0; i < 20; ++i)
    problem.addTask(collective(100, 0));
  problem.addTask(collective(100, 1));
  problem.addTask(compute(1));
  problem.addDependence(20, 21);
  problem.finalize();
  std::vector<ScheduleEvent> events;
  for (int i = 0; i < 21; ++i)
    events.push_back({ScheduleEvent::Start, i});
  events.push_back({ScheduleEvent::Wait, 20});
  events.push_back({ScheduleEvent::Compute, 21});
  for (int i = 0; i < 20; ++i)
    events.push_back({ScheduleEvent::Wait, i});
  ScheduleResult limited = limitAndReplay(problem, events, 4);
  EXPECT_EQ(limited.begin[21], 100);
  EXPECT_EQ(limited.time, replay(problem, events).time);
}

/// A step that is held up by its link starts all gathers early. With some room
/// it is as fast as with all of it.
TEST(InFlight, StepsAreAsFast) {
  for (bool sharesLink : {false, true}) {
    StepShape shape;
    shape.layers = 24;
    shape.gather = 1500;
    shape.reduce = 1600;
    shape.sharesLink = sharesLink;
    ScheduleProblem problem = makeStep(shape);
    std::vector<ScheduleEvent> events = scheduleGreedily(problem);
    ScheduleResult before = replay(problem, events);
    ASSERT_GT(countInFlight(events), 16);
    ScheduleResult after = limitAndReplay(problem, events, 16);
    EXPECT_LE(after.time, before.time);
    EXPECT_LE(after.peakBytes, before.peakBytes);
  }
}

/// Whatever there is room for.
TEST(InFlight, RandomProblems) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ScheduleProblem problem = makeRandomProblem(seed, 60);
    for (const std::vector<ScheduleEvent> &events :
         {scheduleGreedily(problem), makeSchedule(problem, {}).result.events}) {
      ScheduleResult before = replay(problem, events);
      int most = countInFlight(events);
      for (int few : {1, 2, 3, 5, 8, most}) {
        ScheduleResult after = limitAndReplay(problem, events, few);
        EXPECT_LE(after.peakBytes, before.peakBytes) << seed << " " << few;
      }
      int all = most * std::max(1, problem.getNumResources() - 1);
      EXPECT_EQ(limitInFlight(problem, events, all), events);
    }
  }
}

} // namespace
