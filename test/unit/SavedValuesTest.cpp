// SPDX-License-Identifier: Apache-2.0

// What is kept and what is computed again, against all choices there are.

#include "weft/Schedule/SavedValues.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace mlir::weft;

namespace {

/// A random program of up to eight tasks, each with one value.
SavedProblem makeProblem(std::mt19937 &random) {
  SavedProblem problem;
  int count = 2 + static_cast<int>(random() % 7);
  for (int i = 0; i < count; ++i) {
    SavedProblem::Task task;
    task.nanoseconds = 1 + static_cast<int64_t>(random() % 1000);
    task.mayRepeat = random() % 8 != 0;
    for (int input = 0; input < i; ++input)
      if (random() % 3 == 0)
        task.inputs.push_back(input);
    problem.tasks.push_back(task);
    problem.values.push_back({static_cast<int64_t>(1 + random() % 1000) << 10,
                              static_cast<int64_t>(random() % 3 * 200), i,
                              random() % 2 == 0});
  }
  return problem;
}

/// Bytes and time of one choice; false if it repeats what must not be.
bool addUp(const SavedProblem &problem, unsigned choice, int64_t &bytes,
           int64_t &nanoseconds) {
  std::vector<bool> isNeeded;
  for (const SavedProblem::Value &value : problem.values)
    isNeeded.push_back(value.isNeeded);
  bytes = nanoseconds = 0;
  for (size_t i = 0; i < problem.tasks.size(); ++i) {
    if (!(choice >> i & 1))
      continue;
    if (!problem.tasks[i].mayRepeat)
      return false;
    nanoseconds += problem.tasks[i].nanoseconds;
    for (int input : problem.tasks[i].inputs)
      isNeeded[input] = true;
  }
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (isNeeded[i] && !(choice >> i & 1)) {
      bytes += problem.values[i].bytes;
      nanoseconds += problem.values[i].nanoseconds;
    }
  return true;
}

TEST(SavedValues, ACutIsTheBestChoiceAtItsPrice) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    SavedProblem problem = makeProblem(random);
    for (int64_t price : {0, 10, 1000, 100000}) {
      SavedChoice found = chooseSaved(problem, price);
      auto getCost = [&](int64_t bytes, int64_t nanoseconds) {
        return bytes * price + (nanoseconds << 20);
      };
      int64_t least = -1, bytes, nanoseconds;
      for (unsigned choice = 0; choice < 1u << problem.tasks.size(); ++choice)
        if (addUp(problem, choice, bytes, nanoseconds)) {
          int64_t cost = getCost(bytes, nanoseconds);
          least = least < 0 ? cost : std::min(least, cost);
        }
      EXPECT_EQ(getCost(found.bytes, found.nanoseconds), least);
    }
  }
}

TEST(SavedValues, PricesAscendAndKeepLessEach) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    SavedProblem problem = makeProblem(random);
    int64_t bytes = chooseSaved(problem, 0).bytes, before = -1;
    for (int64_t price : findPrices(problem)) {
      EXPECT_GT(price, before);
      SavedChoice choice = chooseSaved(problem, price);
      EXPECT_LE(choice.bytes, bytes);
      bytes = choice.bytes;
      before = price;
    }
  }
}

} // namespace
