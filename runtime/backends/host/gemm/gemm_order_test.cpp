// SPDX-License-Identifier: Apache-2.0

// Declared orders: every instruction set computes the tree that gemm.h
// describes, bit for bit, whatever the shape, and parts of K are subtrees.

#include "gemm_test_fixture.h"

using namespace weft::rt;
using namespace weft::rt::test;

namespace {

constexpr int32_t leafCounts[] = {1, 2, 3, 4, 8, 12};

class GemmOrderTest : public IsaTest {};

Problem ordered(Random &random, const Types &t, int64_t m, int64_t n, int64_t k,
                int32_t leaves) {
  Problem problem = matrixProblem(random, t.a, t.b, t.c, m, n, k);
  problem.desc.leaves = leaves;
  problem.desc.rounded = int32_t(random.below(2));
  return problem;
}

TEST_P(GemmOrderTest, RandomProblems) {
  Random random(11);
  for (int i = 0; i < 600; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    Problem problem = randomProblem(random, t.a, t.b, t.c);
    problem.chooseOrder(random, 16);
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

/// Leaves that are padded, that share a pass over packed panels, and that need
/// several passes.
TEST_P(GemmOrderTest, LeafLengths) {
  Random random(12);
  for (int32_t leaves : leafCounts)
    for (int64_t leaf : {0, 1, 31, 33, 96, 257, 384, 512, 700, 1024})
      for (const Types &t : allTypes) {
        if (leaf * leaves > 4096 && t.a != bf16 && t.a != f32)
          continue;
        Problem problem = ordered(random, t, 1 + random.below(10),
                                  1 + random.below(36), leaf * leaves, leaves);
        ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
      }
}

TEST_P(GemmOrderTest, ManyLeaves) {
  Random random(13);
  for (int32_t leaves : {7, 512, 1023})
    for (const Types &t : allTypes) {
      Problem problem = ordered(random, t, 15, 33, leaves, leaves);
      ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
    }
}

TEST_P(GemmOrderTest, ManyPasses) {
  Random random(20);
  for (int32_t leaves : {63, 200})
    for (const Types &t : allTypes) {
      Problem problem = ordered(random, t, 3, 5, leaves * 300, leaves);
      ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
    }
}

TEST_P(GemmOrderTest, SubnormalAndInfiniteNumbers) {
  Random random(14);
  for (int i = 0; i < 240; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    int32_t leaves = leafCounts[random.below(std::size(leafCounts))];
    Problem problem =
        ordered(random, t, 1 + random.below(40), 1 + random.below(40),
                leaves * random.below(50), leaves);
    problem.makeExtreme(random);
    if (random.below(4) == 0)
      problem.poison(random);
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

/// Joins of normal numbers whose sums are not.
TEST_P(GemmOrderTest, JoinsThatCancelOrOverflow) {
  Random random(21);
  for (int i = 0; i < 440; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    int32_t leaves = leafCounts[random.below(std::size(leafCounts))];
    int64_t leaf = i % 44 < 2 ? 1024 : 1 + random.below(8);
    Problem problem = ordered(random, t, 1 + random.below(40),
                              1 + random.below(40), leaves * leaf, leaves);
    problem.makeSparse(random);
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

TEST_P(GemmOrderTest, PartsHaveTheBitsOfTheWhole) {
  Random random(15);
  for (const Types &t : allTypes)
    for (int i = 0; i < 12; ++i) {
      int32_t leaves = leafCounts[i % std::size(leafCounts)];
      Problem whole =
          ordered(random, t, 20 + random.below(90), 20 + random.below(90),
                  leaves * random.below(120), leaves);
      ASSERT_EQ(comparePart(whole, random), "") << whole.text();
    }
}

TEST_P(GemmOrderTest, ThreadsDoNotChangeBits) {
  Random random(16);
  for (const Types &t : allTypes) {
    Problem large = ordered(random, t, 150, 300, 160, 8);
    ASSERT_EQ(compareThreads(large), "") << large.text();
    Problem batched = batchProblem(random, t.a, t.b, t.c, 6, 70, 90, 150);
    batched.chooseOrder(random, 8);
    ASSERT_EQ(compareThreads(batched), "") << batched.text();
  }
}

/// More rows than have room for sums that wait.
TEST_P(GemmOrderTest, SumsThatWaitForManyRows) {
  if (GetParam() < Isa::Avx512)
    GTEST_SKIP() << "too slow";
  Random random(17);
  for (int i = 0; i < 2; ++i) {
    bool amx = GetParam() == Isa::AmxBf16;
    const Types t = amx ? Types{bf16, bf16, bf16} : Types{f32, f32, f32};
    Problem whole = ordered(random, t, 2300, amx ? 1000 : 500, 8 * 260, 8);
    whole.desc.accumulate = i;
    ASSERT_EQ(comparePart(whole, random), "") << whole.text();
  }
}

/// A rank that holds 1/t of K computes one of t subtrees.
TEST_P(GemmOrderTest, PartsOfKAreSubtrees) {
  Random random(18);
  constexpr int cuts[][2] = {{8, 2},  {8, 4},  {8, 8}, {4, 2},
                             {12, 3}, {12, 6}, {6, 3}, {3, 3}};
  for (const auto &[leaves, parts] : cuts)
    for (const Types &t : allTypes) {
      Problem whole =
          ordered(random, t, 1 + random.below(70), 1 + random.below(70),
                  leaves * (1 + random.below(90)), leaves);
      whole.desc.accumulate = 0;
      if (bytesOf(t.c) < 4) // without rounding, parts would be wider than C
        whole.desc.rounded = 1;
      ASSERT_EQ(compareSubtrees(whole, parts), "") << whole.text();
    }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, GemmOrderTest, testing::ValuesIn(allIsas),
                         nameOfIsa);

/// The leaves matter: an order is not what happens anyway.
TEST(GemmOrder, OrdersDiffer) {
  Random random(19);
  for (const Types &t : {Types{f32, f32, f32}, Types{bf16, bf16, f32}}) {
    Problem problem = matrixProblem(random, t.a, t.b, t.c, 30, 30, 240);
    problem.desc.leaves = 2;
    Problem other = problem;
    other.desc.leaves = 4;
    EXPECT_NE(compareRuns(problem, other), "");
    EXPECT_EQ(compareRuns(problem, problem), "");
  }
}

} // namespace
