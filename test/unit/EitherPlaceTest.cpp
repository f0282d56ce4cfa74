// SPDX-License-Identifier: Apache-2.0

// The places of a long computation beside the longest path: each schedule has
// one of them, so that the least of their bounds is a bound.

#include "../../lib/Schedule/EitherPlace.h"
#include "FastestOrder.h"
#include "ScheduleExamples.h"
#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

TEST(EitherPlaceTest, EachScheduleHasOneOfThePlaces) {
  int numRaised = 0, numReached = 0;
  constexpr int kNumProblems = 2000;
  for (uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    int size = 5 + static_cast<int>(seed % 4);
    ScheduleProblem problem = seed % 3 == 0   ? makeRandomDelays(seed, size)
                              : seed % 3 == 1 ? makeRandomTwins(seed, size)
                                              : makeRandomChain(seed, size);
    int64_t fastest = FastestOrder(problem).get();
    int64_t least = std::numeric_limits<int64_t>::max();
    std::vector<Precedences> all = listPlaces(problem);
    for (const Precedences &precedences : all) {
      ScheduleProblem part =
          problem.reordered(orderTasks(problem, precedences), precedences);
      int64_t fastestOfPart = FastestOrder(part).get();
      ASSERT_LE(computeLowerBound(part).get(), fastestOfPart);
      least = std::min(least, fastestOfPart);
    }
    // None is lost, and none is there that is not a schedule.
    if (!all.empty()) {
      ASSERT_EQ(least, fastest);
    }
    int64_t bound = computeLowerBound(problem).get();
    int64_t raised = computeBoundOfPlaces(problem, bound);
    ASSERT_LE(raised, fastest);
    std::vector<Place> places = boundPlaces(problem, bound);
    ASSERT_EQ(places.size(), all.size());
    if (!places.empty()) {
      ASSERT_EQ(places.front().bound, raised);
    }
    numRaised += raised > bound;
    numReached += raised > bound && raised == fastest;
  }
  EXPECT_GT(numRaised, 50);
  EXPECT_GT(numReached, 20);
}

TEST(EitherPlaceTest, AnOrderHoldsEveryTaskAfterWhatItNeeds) {
  ScheduleProblem problem = makeRandomTwins(/*seed=*/3, /*size=*/40);
  for (const Precedences &precedences : listPlaces(problem)) {
    std::vector<int> order = orderTasks(problem, precedences);
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
  auto addBehind = [&](const ScheduleTask &task, int before) {
    int next = problem.addTask(task);
    problem.addDependence(before, next);
    return next;
  };
  std::vector<int> gradients;
  for (int i = 0; i < 3; ++i) {
    last = addBehind(exchange, last);
    last = addBehind(compute, last);
    compute.duration = 25;
    gradients.push_back(addBehind(compute, last));
    compute.duration = 10;
  }
  compute.duration = 200;
  int longest = addBehind(compute, first);
  exchange.role = TaskRole::Reduce;
  exchange.duration = 50;
  std::vector<int> sums{addBehind(exchange, longest)};
  for (int gradient : gradients)
    sums.push_back(addBehind(exchange, gradient));
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
  EXPECT_EQ(computeBoundOfPlaces(problem, bound), fastest);
  Schedule best = makeSchedule(problem, ScheduleOptions());
  EXPECT_EQ(best.result.time, fastest);
  EXPECT_EQ(best.bound.get(), fastest);
}

} // namespace
