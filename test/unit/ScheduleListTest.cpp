// SPDX-License-Identifier: Apache-2.0

// The list scheduler by itself, and the memory that it counts.

#include "../../lib/Schedule/ListScheduler.h"
#include "../../lib/Schedule/MemoryProfile.h"
#include "ScheduleExamples.h"

#include "gtest/gtest.h"

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

TEST(ScheduleListTest, WhatGoesInPlaceOfTheFirstDelaysNothingUrgent) {
  // While an exchange is under way there is no memory for `first`. `whole`
  // takes far longer than the exchange, which another one waits for.
  ScheduleProblem problem;
  int exchange = problem.addTask(collective(10, 0, 0, TaskRole::Activation));
  int urgent = problem.addTask(compute(5));
  problem.addReader(problem.addBuffer(10, exchange), urgent);
  int next = problem.addTask(collective(100, 0, 0, TaskRole::Activation));
  problem.addDependence(urgent, next);
  int first = problem.addTask(compute(3)), whole = problem.addTask(compute(90));
  int last = problem.addTask(compute(1));
  problem.addReader(problem.addBuffer(10, first), last);
  problem.addDependence(next, last);
  problem.addDependence(whole, last);
  problem.finalize();
  ListOptions options;
  options.keys = {0, 1, 2, 3, 4, 5};
  options.limit = 15;
  options.keepsLinkBusy = true;
  ScheduleResult result = replay(problem, scheduleList(problem, options));
  EXPECT_EQ(result.time, 10 + 5 + 100 + 1);
  EXPECT_LE(result.peakBytes, 15);
}

TEST(MemoryProfileTest, TheFirstPeakIsThatOfProgramOrder) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed, 1 + seed % 40);
    std::vector<ScheduleEvent> events;
    for (int i = 0; i < problem.size(); ++i) {
      bool isCollective = problem.task(i).isCollective();
      events.push_back(
          {isCollective ? ScheduleEvent::Start : ScheduleEvent::Compute, i});
      if (isCollective)
        events.push_back({ScheduleEvent::Wait, i});
    }
    EXPECT_EQ(MemoryProfile(problem).getPeak(),
              replay(problem, events).peakBytes);
  }
}

TEST(MemoryProfileTest, SaysWhatThePeakWouldBe) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeRandomProblem(seed, 2 + seed % 40);
    MemoryProfile profile(problem);
    std::vector<bool> isDone(problem.size(), false);
    for (int count = 0; count < problem.size(); ++count) {
      // The last that can be executed: what is far from program order.
      int chosen = -1;
      for (int i = 0; i < problem.size(); ++i) {
        bool isReady = !isDone[i];
        for (int before : problem.predecessors(i))
          isReady = isReady && isDone[before];
        if (!isReady)
          continue;
        MemoryProfile after = profile;
        after.execute(i);
        int64_t peak = after.getPeak();
        EXPECT_TRUE(profile.staysWithin(peak, i));
        EXPECT_FALSE(profile.staysWithin(peak - 1, i));
        chosen = i;
      }
      profile.execute(chosen);
      isDone[chosen] = true;
    }
  }
}

} // namespace
