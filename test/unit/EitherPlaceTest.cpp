// SPDX-License-Identifier: Apache-2.0

// The places of what is long beside the longest path: each schedule has one of
// them, so that the least of their bounds is a bound.

#include "../../lib/Schedule/EitherPlace.h"
#include "../../lib/Schedule/ImpliedOrder.h"
#include "FastestOrder.h"
#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

ScheduleProblem makeProblem(uint64_t seed) {
  int size = 5 + static_cast<int>(seed % 4);
  if (seed % 3 == 0)
    return makeRandomDelays(seed, size);
  return seed % 3 == 1 ? makeRandomTwins(seed, size)
                       : makeRandomChain(seed, size);
}

/// The least of the bounds of parts.
int64_t getLeast(const ScheduleProblem &problem, int64_t bound, int64_t enough,
                 int64_t effort) {
  std::vector<SchedulePart> parts =
      splitSchedules(TaskGraph(problem), bound, enough, effort);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end(),
                             [](const SchedulePart &a, const SchedulePart &b) {
                               return a.bound < b.bound;
                             }));
  return parts.empty() ? enough : parts.front().bound;
}

/// The time of the fastest schedule that keeps to `precedences`. Of two
/// collectives of a link, the first need not be waited for before the second is
/// started.
int64_t getFastest(const ScheduleProblem &problem,
                   const Precedences &precedences) {
  TaskGraph graph(problem);
  std::vector<int> order = orderTasks(graph, precedences), place(order.size());
  for (int i = 0; i < problem.size(); ++i)
    place[order[i]] = i;
  Precedences waited, started;
  for (auto [first, second] : precedences) {
    bool isOfLink = graph.resources[first] != 0 &&
                    graph.resources[first] == graph.resources[second];
    if (isOfLink)
      started.emplace_back(place[first], place[second]);
    else
      waited.emplace_back(first, second);
  }
  int64_t fastest =
      FastestOrder(problem.reordered(order, waited), started).get();
  EXPECT_LE(computeLowerBound(graph.ordered(order, precedences)).get(),
            fastest);
  return fastest;
}

TEST(EitherPlaceTest, EachScheduleHasOneOfThePlaces) {
  int numRaised = 0, numReached = 0;
  constexpr int kNumProblems = 2000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeProblem(seed);
    int64_t fastest = FastestOrder(problem).get();
    // None is lost, and none is there that is not a schedule.
    for (const std::vector<Places> &ofRank : listPlaces(TaskGraph(problem)))
      for (const Places &places : ofRank) {
        int64_t least = kNever;
        for (const Precedences &precedences : places)
          least = std::min(least, getFastest(problem, precedences));
        ASSERT_EQ(least, fastest);
      }
    int64_t bound = computeLowerBound(problem).get();
    // The more it is split, the more is known.
    int64_t once = getLeast(problem, bound, fastest + 1, /*effort=*/1);
    int64_t often = getLeast(problem, bound, fastest + 1, /*effort=*/400);
    ASSERT_LE(bound, once);
    ASSERT_LE(once, often);
    ASSERT_LE(often, fastest);
    ASSERT_LE(getLeast(problem, bound, fastest, /*effort=*/400), fastest);
    numRaised += often > bound;
    numReached += often > bound && often == fastest;
  }
  EXPECT_GT(numRaised, 100);
  EXPECT_GT(numReached, 50);
}

TEST(EitherPlaceTest, PartsHoldAllSchedulesThatAreFaster) {
  int numDropped = 0;
  constexpr int kNumProblems = 2000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeProblem(seed);
    int64_t fastest = FastestOrder(problem).get(), least = kNever;
    int64_t effort = 100, otherEffort = 100;
    std::vector<SchedulePart> parts =
        splitSchedules(TaskGraph(problem), computeLowerBound(problem).get(),
                       fastest + 1, effort);
    EXPECT_LE(effort, 100);
    for (const SchedulePart &part : parts) {
      int64_t fastestOfPart = getFastest(problem, part.precedences);
      ASSERT_LE(part.bound, fastestOfPart);
      least = std::min(least, fastestOfPart);
    }
    ASSERT_EQ(least, fastest);
    numDropped +=
        splitSchedules(TaskGraph(problem), computeLowerBound(problem).get(),
                       fastest, otherEffort)
            .empty();
  }
  EXPECT_GT(numDropped, 50);
}

TEST(EitherPlaceTest, SchedulesThatAreInTimeKeepToWhatThatImplies) {
  int numImplied = 0, numRaised = 0;
  constexpr int kNumProblems = 4000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    ScheduleProblem problem = makeProblem(seed);
    TaskGraph graph(problem);
    int64_t fastest = FastestOrder(problem).get();
    std::optional<Precedences> implied =
        findImpliedOrder(graph, Precedences(), fastest + 1);
    ASSERT_TRUE(implied);
    ASSERT_EQ(getFastest(problem, *implied), fastest);
    numImplied += !implied->empty();
    int64_t bound = computeLowerBound(problem).get();
    for (int64_t end : {bound + 1, (bound + fastest) / 2, fastest}) {
      Precedences none;
      int64_t raised = getBoundBelow(graph, none, end);
      ASSERT_LE(raised, fastest);
      numRaised += raised > bound;
    }
  }
  EXPECT_GT(numImplied, 1000);
  EXPECT_GT(numRaised, 500);
}

TEST(EitherPlaceTest, WhatComesTooLateIsNotFirst) {
  // The long computation has to be reduced afterwards: there is no time for it
  // after the short one, which needs a gather.
  ScheduleProblem problem;
  problem.addTask(collective(30, /*channel=*/0, /*link=*/0));
  problem.addTask(compute(10));
  problem.addDependence(0, 1);
  problem.addTask(compute(100));
  problem.addTask(collective(50, /*channel=*/1, /*link=*/1));
  problem.addDependence(2, 3);
  problem.finalize();
  TaskGraph graph(problem);
  EXPECT_EQ(findImpliedOrder(graph, {}, /*end=*/190), Precedences({{2, 1}}));
  EXPECT_EQ(findImpliedOrder(graph, {}, /*end=*/191), Precedences());
  EXPECT_EQ(findImpliedOrder(graph, {}, /*end=*/150), std::nullopt);
}

TEST(EitherPlaceTest, AnOrderHoldsEveryTaskAfterWhatItNeeds) {
  ScheduleProblem problem = makeRandomTwins(/*seed=*/3, /*size=*/40);
  int64_t effort = 400;
  std::vector<SchedulePart> parts =
      splitSchedules(TaskGraph(problem), /*bound=*/0, kNever, effort);
  ASSERT_FALSE(parts.empty());
  // It says what was taken: what has been begun is finished.
  EXPECT_LE(effort, 0);
  for (const auto &[precedences, bound] : parts) {
    std::vector<int> order = orderTasks(TaskGraph(problem), precedences);
    ASSERT_EQ(order.size(), size_t(problem.size()));
    std::vector<int> place(problem.size());
    for (int i = 0; i < problem.size(); ++i)
      place[order[i]] = i;
    for (int i = 0; i < problem.size(); ++i)
      for (int before : problem.predecessors(i))
        EXPECT_LT(place[before], place[i]);
    for (auto [from, to] : precedences)
      EXPECT_LT(place[from], place[to]);
  }
}

/// A chain of computations and three exchanges; beside them a long computation
/// that could hide any one of those, and has to be reduced on the same link for
/// the last computation.
ScheduleProblem makeLongBesideExchanges() {
  ScheduleProblem problem;
  ScheduleTask compute, exchange;
  compute.duration = 10;
  exchange.duration = 60;
  exchange.channel = exchange.link = 0;
  exchange.role = TaskRole::Activation;
  int first = problem.addTask(compute), last = first;
  auto addAfter = [&](const ScheduleTask &task, int before) {
    int next = problem.addTask(task);
    problem.addDependence(before, next);
    return next;
  };
  std::vector<int> gradients;
  for (int i = 0; i < 3; ++i) {
    last = addAfter(exchange, last);
    last = addAfter(compute, last);
    compute.duration = 25;
    gradients.push_back(addAfter(compute, last));
    compute.duration = 10;
  }
  compute.duration = 200;
  int longest = addAfter(compute, first);
  exchange.role = TaskRole::Reduce;
  exchange.duration = 50;
  std::vector<int> sums{addAfter(exchange, longest)};
  for (int gradient : gradients)
    sums.push_back(addAfter(exchange, gradient));
  compute.duration = 10;
  int end = problem.addTask(compute);
  for (int sum : sums)
    problem.addDependence(sum, end);
  problem.finalize();
  return problem;
}

TEST(EitherPlaceTest, ALongComputationIsInOnePlaceOnly) {
  ScheduleProblem problem = makeLongBesideExchanges();
  int64_t fastest = FastestOrder(problem).get();
  int64_t bound = computeLowerBound(problem).get();
  EXPECT_LT(bound, fastest);
  EXPECT_EQ(getLeast(problem, bound, fastest + 1, /*effort=*/1), fastest);
  Schedule best = makeSchedule(problem, ScheduleOptions());
  EXPECT_EQ(best.result.time, fastest);
  EXPECT_EQ(best.bound.get(), fastest);
}

} // namespace
