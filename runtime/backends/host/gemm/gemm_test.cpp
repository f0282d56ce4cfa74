// SPDX-License-Identifier: Apache-2.0

// Compares gemm with a naive evaluation of the documented order, bit for bit,
// over random problems, and checks that no result depends on what it must not
// depend on: other rows and columns, strides, threads, instruction set.

#include "gemm.h"
#include "gemm_test_fixture.h"

using namespace weft::rt;
using namespace weft::rt::test;

namespace {

class GemmTest : public IsaTest {};

TEST_P(GemmTest, MatchesOrderOnRandomProblems) {
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    Problem problem = randomProblem(random, t.a, t.b, t.c);
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

TEST_P(GemmTest, MatchesOrderOnIrregularMatrices) {
  Random random(2);
  for (int i = 0; i < 160; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    Problem problem = matrixProblem(random, t.a, t.b, t.c, 1 + random.below(70),
                                    1 + random.below(70), random.below(70));
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

TEST_P(GemmTest, MatchesOrderOnLongK) {
  Random random(3);
  for (int64_t k : {511, 512, 513, 1024, 1300})
    for (const Types &t : allTypes) {
      Problem problem = matrixProblem(random, t.a, t.b, t.c, 17, 37, k);
      ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
    }
}

TEST_P(GemmTest, MatchesOrderOnThinShapes) {
  Random random(4);
  constexpr int64_t shapes[][3] = {{1500, 1, 40}, {1, 1500, 40}, {1, 1, 900},
                                   {700, 3, 65},  {3, 2100, 9},  {300, 40, 1},
                                   {40, 1100, 5}};
  for (const auto &shape : shapes)
    for (const Types &t : allTypes) {
      Problem problem =
          matrixProblem(random, t.a, t.b, t.c, shape[0], shape[1], shape[2]);
      ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
    }
}

/// A rectangle of C computed alone, by a descriptor with other strides, has the
/// bits that it has in the whole.
TEST_P(GemmTest, PartsHaveTheBitsOfTheWhole) {
  Random random(5);
  for (const Types &t : allTypes)
    for (int i = 0; i < 12; ++i) {
      Problem whole =
          matrixProblem(random, t.a, t.b, t.c, 20 + random.below(90),
                        20 + random.below(90), random.below(700));
      ASSERT_EQ(comparePart(whole, random), "") << whole.text();
    }
}

TEST_P(GemmTest, ThreadsDoNotChangeBits) {
  Random random(6);
  for (const Types &t : allTypes) {
    Problem large = matrixProblem(random, t.a, t.b, t.c, 150, 300, 130);
    ASSERT_EQ(compareThreads(large), "") << large.text();
    Problem batched = batchProblem(random, t.a, t.b, t.c, 6, 70, 90, 150);
    ASSERT_EQ(compareThreads(batched), "") << batched.text();
  }
}

TEST_P(GemmTest, EmptyDimensions) {
  Random random(7);
  for (const Types &t : allTypes) {
    Problem noK = matrixProblem(random, t.a, t.b, t.c, 5, 20, 0);
    ASSERT_EQ(compareWithOrder(noK, GetParam()), "") << noK.text();
    Problem noRows = matrixProblem(random, t.a, t.b, t.c, 0, 20, 5);
    ASSERT_EQ(compareWithOrder(noRows, GetParam()), "") << noRows.text();
  }
}

TEST_P(GemmTest, InfinityAndNaNStayInTheirRow) {
  Random random(8);
  for (const Types &t : allTypes) {
    Problem problem = matrixProblem(random, t.a, t.b, t.c, 33, 35, 37);
    problem.poison(random);
    ASSERT_EQ(compareWithOrder(problem, GetParam()), "") << problem.text();
  }
}

/// What a compiled truncf from f32 to bf16 gives.
uint16_t truncated(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A narrow C is the f32 sum, rounded as the program's truncf would: sums of
/// any bits but for -0.
TEST_P(GemmTest, NarrowResultsAreTruncatedSums) {
  constexpr uint32_t lowHalves[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  for (uint32_t low : lowHalves) {
    std::vector<uint32_t> sums;
    for (uint32_t high = 0; high < 0x10000; ++high)
      sums.push_back(high << 16 | low);
    weft_rt_gemm desc{};
    desc.type_a = desc.type_b = f32;
    desc.type_c = bf16;
    desc.leaves = int32_t(low & 1);
    desc.num_dims = 1;
    desc.dims[0] = {WEFT_RT_GEMM_M, int64_t(sums.size()), 1, 0, 1};
    const float one = 1;
    std::vector<uint16_t> got(sums.size());
    gemm(desc, sums.data(), &one, got.data(), {});
    for (size_t i = 0; i < sums.size(); ++i) {
      uint16_t want = sums[i] == 0x80000000 ? 0 : truncated(sums[i]);
      if (want == 0x7fc0)
        ASSERT_GT(got[i] & 0x7fff, 0x7f80) << std::hex << sums[i];
      else
        ASSERT_EQ(got[i], want) << std::hex << sums[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, GemmTest, testing::ValuesIn(allIsas),
                         nameOfIsa);

weft_rt_gemm simple() {
  weft_rt_gemm desc{};
  desc.type_a = desc.type_b = desc.type_c = f32;
  desc.num_dims = 2;
  desc.dims[0] = {WEFT_RT_GEMM_M, 2, 1, 0, 1};
  desc.dims[1] = {WEFT_RT_GEMM_K, 2, 2, 1, 0};
  return desc;
}

TEST(GemmSupported, NamesTheReason) {
  weft_rt_gemm desc = simple();
  EXPECT_EQ(gemmReason(desc), nullptr);
  desc.type_c = bf16;
  EXPECT_EQ(gemmReason(desc), nullptr);
  desc.type_c = f16;
  EXPECT_STREQ(gemmReason(desc), "combination of types not supported");
  desc = simple();
  desc.num_dims = 9;
  EXPECT_STREQ(gemmReason(desc), "number of dimensions out of range");
  desc = simple();
  desc.dims[0].role = 4;
  EXPECT_STREQ(gemmReason(desc), "unknown role of a dimension");
  desc = simple();
  desc.dims[1].size = -1;
  EXPECT_STREQ(gemmReason(desc), "negative size");
  desc = simple();
  desc.dims[1].stride_b = -1;
  EXPECT_STREQ(gemmReason(desc), "negative stride");
  desc = simple();
  desc.dims[0].stride_c = 0;
  EXPECT_STREQ(gemmReason(desc), "an element of C is addressed more than once");
  desc = simple();
  desc.leaves = -1;
  EXPECT_STREQ(gemmReason(desc), "negative number of leaves");
  desc.leaves = 3;
  EXPECT_STREQ(gemmReason(desc), "number of leaves does not divide K");
  desc.leaves = 2;
  EXPECT_EQ(gemmReason(desc), nullptr);
}

int isaFromEnvironment(const char *value) {
  setenv("WEFT_GEMM_ISA", value, 1);
  std::exit(int(activeIsa()));
}

TEST(GemmIsaDeathTest, EnvironmentChoosesOrIsDiagnosed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(isaFromEnvironment("scalar"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(isaFromEnvironment("neon"), testing::ExitedWithCode(1),
              "WEFT_GEMM_ISA=neon names no instruction set");
}

} // namespace
