// SPDX-License-Identifier: Apache-2.0

// Compares attention and its gradient with f64 over random problems, and checks
// that no result depends on what it must not depend on: other queries, blocks
// that are left out, strides, threads, instruction set.

#include "attention_test_util.h"
#include "contract/attention_formulas.h"
#include "gemm_test_fixture.h"

#include <cmath>
#include <limits>

using namespace weft::rt;
using namespace weft::rt::test;

namespace {

constexpr weft_rt_type narrowTypes[] = {f32, bf16, f16};
constexpr float infinity = std::numeric_limits<float>::infinity();

bool roundsP(const Case &c) {
  return c.desc.type == bf16 &&
         (c.desc.leaves > 0 || activeIsa() >= Isa::Avx512Bf16);
}

/// A number of leaves, or 0, that divides groups times queries.
int anyLeaves(Random &random, const Case &c) {
  int64_t rows = 1;
  for (int i = 0; i < c.desc.num_dims; ++i)
    if (c.desc.dims[i].role == WEFT_RT_ATTENTION_GROUP ||
        c.desc.dims[i].role == WEFT_RT_ATTENTION_QUERY)
      rows *= c.desc.dims[i].size;
  int64_t leaves = random.below(2) ? 0 : 1 + random.below(16);
  while (leaves > 0 && rows % leaves != 0)
    --leaves;
  return int(leaves);
}

weft_rt_type f32Or(Random &random, weft_rt_type type) {
  return random.below(2) ? f32 : type;
}

Case anyGradient(Random &random, const Case &forward) {
  const weft_rt_type type = forward.desc.type;
  return gradientOf(random, forward, f32Or(random, type), f32Or(random, type),
                    f32Or(random, type), anyLeaves(random, forward));
}

class AttentionTest : public IsaTest {
protected:
  /// Scalar code is slow where the processor has no FMA that it may use.
  int64_t cases(int64_t count) const {
    return GetParam() == Isa::Scalar ? count / 4 : count;
  }
  /// Runs `c`, and then a gradient of it.
  void checkBothWays(Random &random, Case &c) {
    runCase(c);
    ASSERT_EQ(compareWithReference(c, roundsP(c)), "") << textOf(c);
    Case gradient = anyGradient(random, c);
    runCase(gradient);
    ASSERT_EQ(compareWithReference(gradient, roundsP(gradient)), "")
        << textOf(gradient);
  }
};

TEST_P(AttentionTest, IsAsCloseToF64AsPlainCode) {
  Random random(1);
  for (int64_t i = 0; i < cases(120); ++i) {
    Case c = randomCase(random, narrowTypes[i % 3], i < 20 ? 130 : 40);
    c.desc.leaves = int32_t(random.below(2));
    ASSERT_NO_FATAL_FAILURE(checkBothWays(random, c));
  }
}

/// Several blocks of keys and of queries.
TEST_P(AttentionTest, IsAsCloseToF64OverBlocks) {
  Random random(2);
  for (weft_rt_type type : narrowTypes)
    for (bool causal : {false, true}) {
      Case c = plainCase(random, type, {150, 1100, 8, 5, 1, 2});
      c.desc.scale = 0.5f;
      c.desc.right = causal ? 0 : -1;
      c.queryStart = causal ? 600 : 0;
      ASSERT_NO_FATAL_FAILURE(checkBothWays(random, c));
    }
}

TEST_P(AttentionTest, ThreadsAndStridesDoNotChangeBits) {
  Random random(3);
  for (int64_t i = 0; i < cases(18); ++i) {
    Case c = randomCase(random, narrowTypes[i % 3], 130);
    if (i % 2)
      c = plainCase(random, narrowTypes[i % 3],
                    {130, 700, 32, 16, 1 + random.below(5), 2});
    Case again = c;
    layOutAnew(random, again);
    runCase(c);
    runCase(again, threeThreads());
    ASSERT_EQ(compareResults(again, c), "") << textOf(c);
    Case gradient = anyGradient(random, c);
    again = gradient;
    layOutAnew(random, again);
    runCase(gradient);
    runCase(again, threeThreads());
    ASSERT_EQ(compareResults(again, gradient), "") << textOf(gradient);
  }
}

/// Several blocks of keys, of which the second one of the gradient begins amid
/// a counter's; heads so large that these are small.
TEST_P(AttentionTest, DropsTheSameKeysInAllBlocks) {
  Random random(16);
  for (weft_rt_type type : narrowTypes)
    for (Sizes sizes : {Sizes{70, 1100, 8, 5, 1, 2}, Sizes{10, 130, 500, 4}}) {
      Case c = plainCase(random, type, sizes);
      c.desc.scale = 0.3f;
      c.desc.left = 1000;
      c.queryStart = sizes.keys - sizes.queries;
      addDropout(random, c, 0.1f);
      ASSERT_NO_FATAL_FAILURE(checkBothWays(random, c));
    }
}

/// dq in f32, rounded afterwards or at once, and summed where there are threads
/// for a pass of its own: f32 sums are the same.
TEST_P(AttentionTest, AllWaysToSumQueriesGiveTheSameBits) {
  Random random(4);
  Case c = plainCase(random, bf16, {200, 1030, 24, 16, 1, 1});
  c.desc.scale = 0.2f;
  c.desc.right = 0;
  c.queryStart = 700;
  runCase(c);
  Case inPlace = gradientOf(random, c, f32, bf16, f32, 0);
  Case inSpace = inPlace;
  inSpace.desc.type_dq = bf16;
  Case secondPass = inSpace;
  runCase(inPlace);
  runCase(inSpace);
  runCase(secondPass, threeThreads());
  ASSERT_EQ(compareResults(secondPass, inSpace), "");
  std::vector<double> wide = elementsOf(inPlace, WEFT_RT_ATTENTION_DQ);
  std::vector<double> narrow = elementsOf(inSpace, WEFT_RT_ATTENTION_DQ);
  for (size_t i = 0; i < wide.size(); ++i) {
    char bits[2];
    writeAs(bits, bf16, 0, wide[i]);
    ASSERT_EQ(readAs(bits, bf16, 0), narrow[i]) << i;
  }
}

/// Sums of dq of so many queries have no place in the space.
TEST_P(AttentionTest, LargeSumsOfQueriesTakeTwoPasses) {
  Random random(5);
  Case c = plainCase(random, bf16, {1100, 20, 500, 4, 1, 2});
  c.desc.scale = 0.1f;
  runCase(c);
  Case wide = gradientOf(random, c, f32, bf16, f32, 0);
  Case narrow = wide;
  narrow.desc.type_dq = bf16;
  runCase(wide);
  runCase(narrow);
  wide.desc.type_dq = bf16;
  wide.data[WEFT_RT_ATTENTION_DQ] = narrow.data[WEFT_RT_ATTENTION_DQ];
  ASSERT_EQ(compareResults(narrow, wide), "");
}

/// Queries on their own get what they get among others, whatever blocks the
/// others see.
TEST_P(AttentionTest, SlicesOfQueriesHaveTheBitsOfTheWhole) {
  Random random(6);
  for (int64_t i = 0; i < cases(24); ++i) {
    const weft_rt_type type = narrowTypes[i % 3];
    Case c = plainCase(random, type, {140, 1300, 9, 7, 1, 1});
    c.queryStart = random.below(1500) - 300;
    c.desc.right = i % 2 ? 0 : random.below(100);
    c.desc.left = i % 4 < 2 ? -1 : random.below(300);
    c.desc.leaves = int32_t(random.below(2));
    if (i % 5 == 0)
      addMask(random, c, -infinity);
    if (i % 4 == 0)
      addDropout(random, c, 0.4f);
    Case before = c;
    runCase(c);
    const int64_t first = random.below(139),
                  count = 1 + random.below(140 - first);
    Case slice = sliceOf(before, first, count);
    runCase(slice);
    ASSERT_EQ(compareSlice(c, slice, first), "") << textOf(c);
    Case gradient = gradientOf(random, c, f32, f32, type, c.desc.leaves);
    before = gradient;
    runCase(gradient);
    slice = sliceOf(before, first, count);
    runCase(slice);
    ASSERT_EQ(compareSlice(gradient, slice, first), "") << textOf(gradient);
  }
}

/// "" or what differs: dk and dv of `parts` parts of the queries, joined in a
/// tree, and those of the whole.
std::string compareParts(const Case &whole, int64_t parts, int64_t queries,
                         int64_t leaves) {
  for (int tensor : {WEFT_RT_ATTENTION_DK, WEFT_RT_ATTENTION_DV}) {
    std::vector<std::vector<double>> sums;
    for (int64_t part = 0; part < parts; ++part) {
      Case slice = sliceOf(whole, part * queries, queries);
      slice.desc.leaves = int32_t(leaves);
      runCase(slice);
      sums.push_back(elementsOf(slice, tensor));
    }
    auto join = [&](auto &self, size_t begin, size_t count) -> void {
      if (count == 1)
        return;
      size_t half = 1;
      while (2 * half < count)
        half *= 2;
      self(self, begin, half);
      self(self, begin + half, count - half);
      for (size_t i = 0; i < sums[begin].size(); ++i)
        sums[begin][i] = float(sums[begin][i]) + float(sums[begin + half][i]);
    };
    join(join, 0, sums.size());
    if (sums[0] != elementsOf(whole, tensor))
      return "tensor " + std::to_string(tensor);
  }
  return "";
}

Case leavesCase(Random &random, weft_rt_type type, Sizes sizes, int64_t right,
                int64_t leaves) {
  Case c = plainCase(random, type, sizes);
  c.desc.scale = 0.25f;
  c.desc.right = right;
  c.queryStart = right < 0 ? 0 : random.below(sizes.keys) - sizes.queries / 2;
  c.desc.leaves = int32_t(leaves);
  runCase(c);
  Case whole = gradientOf(random, c, f32, f32, f32, c.desc.leaves);
  runCase(whole);
  return whole;
}

TEST_P(AttentionTest, LeavesOfPartsAreSubtrees) {
  Random random(7);
  for (int64_t i = 0; i < cases(16); ++i) {
    const int64_t parts = 1 + random.below(4);
    const int64_t leaves = int64_t(1) << random.below(4);
    const int64_t queries = leaves * (1 + random.below(i % 2 ? 6 : 70));
    Case whole = leavesCase(random, narrowTypes[i % 3],
                            {parts * queries, 90, 20, 12, 2, 1}, i % 3 ? 0 : -1,
                            parts * leaves);
    ASSERT_EQ(compareParts(whole, parts, queries, leaves), "") << textOf(whole);
  }
}

/// Keys are prepared for the many queries of the whole, not for the parts' few.
TEST_P(AttentionTest, PreparedKeysGiveTheSameBits) {
  Random random(15);
  for (weft_rt_type type : narrowTypes) {
    Case whole = leavesCase(random, type, {6 * 129, 520, 24, 17, 2, 1}, 0, 6);
    ASSERT_EQ(compareParts(whole, 3, 2 * 129, 2), "") << textOf(whole);
    whole.desc.leaves = 0;
    Case slice = sliceOf(whole, 200, 150);
    runCase(whole);
    runCase(slice);
    ASSERT_EQ(compareSlice(whole, slice, 200), "") << textOf(whole);
  }
}

/// The whole's sums have no place for a block of keys in the space.
TEST_P(AttentionTest, LargeSumsOfKeysTakeTwoPasses) {
  if (GetParam() == Isa::Scalar)
    GTEST_SKIP() << "slow";
  Random random(14);
  Case whole = leavesCase(random, bf16, {8 * 129, 520, 500, 4, 1, 1}, -1, 8);
  ASSERT_EQ(compareParts(whole, 4, 2 * 129, 2), "");
}

TEST_P(AttentionTest, QueriesThatSeeNothing) {
  Random random(8);
  for (weft_rt_type type : narrowTypes) {
    Case c = plainCase(random, type, {5, 700, 4, 3});
    c.desc.right = 0;
    c.queryStart = -3; // the first three queries lie before all keys
    runCase(c);
    std::vector<double> out = elementsOf(c, WEFT_RT_ATTENTION_OUT);
    std::vector<double> lse = elementsOf(c, WEFT_RT_ATTENTION_LSE);
    for (size_t i = 0; i < 9; ++i)
      EXPECT_TRUE(out[i] == 0 && !std::signbit(out[i]));
    for (size_t i = 0; i < 5; ++i)
      EXPECT_EQ(std::isinf(lse[i]), i < 3);
    ASSERT_EQ(compareWithReference(c, false), "");
    Case gradient = gradientOf(random, c, type, type, type, 0);
    runCase(gradient);
    std::vector<double> dq = elementsOf(gradient, WEFT_RT_ATTENTION_DQ);
    for (size_t i = 0; i < 12; ++i)
      EXPECT_TRUE(dq[i] == 0 && !std::signbit(dq[i]));
  }
}

/// The logarithm of a sum is lost in scores like -1e30.
TEST_P(AttentionTest, QueriesThatAMaskLeavesNoKey) {
  Random random(9);
  for (int i = 0; i < 12; ++i) {
    Case c = plainCase(random, WEFT_RT_F32, {6, i % 3 + 2, 4, 3});
    addMask(random, c, -1e30f);
    runCase(c);
    Case gradient =
        gradientOf(random, c, WEFT_RT_F32, WEFT_RT_F32, WEFT_RT_F32, 0);
    runCase(gradient);
    ASSERT_EQ(compareWithReference(gradient, false), "");
  }
}

TEST_P(AttentionTest, EmptyDimensions) {
  Random random(9);
  for (Sizes sizes :
       {Sizes{0, 9, 4, 4}, Sizes{9, 0, 4, 4}, Sizes{9, 5, 0, 4},
        Sizes{9, 5, 4, 0}, Sizes{9, 5, 4, 4, 0, 1}, Sizes{9, 5, 4, 4, 1, 0}})
    for (int leaves : {0, 3}) {
      Case c = plainCase(random, f32, sizes);
      runCase(c, threeThreads());
      ASSERT_EQ(compareWithReference(c, false), "") << textOf(c);
      Case gradient = gradientOf(random, c, f32, f32, f32, leaves);
      runCase(gradient, threeThreads());
      ASSERT_EQ(compareWithReference(gradient, false), "") << textOf(gradient);
    }
}

TEST_P(AttentionTest, InfinityAndNaNStayInTheirRow) {
  Random random(10);
  for (float bad : {infinity, -infinity, std::nanf("")}) {
    Case c = plainCase(random, f32, {20, 600, 8, 8});
    Case good = c;
    runCase(good);
    writeAs(c.data[WEFT_RT_ATTENTION_Q].data(), f32, 7 * 8 + 3, bad);
    runCase(c);
    std::vector<double> got = elementsOf(c, WEFT_RT_ATTENTION_OUT);
    std::vector<double> want = elementsOf(good, WEFT_RT_ATTENTION_OUT);
    for (size_t i = 0; i < got.size(); ++i)
      if (i / 8 == 7) {
        EXPECT_TRUE(std::isnan(got[i])) << i;
      } else {
        EXPECT_EQ(got[i], want[i]) << i;
      }
    EXPECT_TRUE(std::isnan(elementsOf(c, WEFT_RT_ATTENTION_LSE)[7]));
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, AttentionTest, testing::ValuesIn(allIsas),
                         nameOfIsa);

/// What one ISA gives, others do as well; with bf16 in open order, those that
/// multiply bf16 are apart.
TEST(Attention, InstructionSetsGiveTheSameBits) {
  Random random(11);
  for (int64_t i = 0; i < 24; ++i) {
    Case c = randomCase(random, narrowTypes[i % 3], i < 6 ? 130 : 50);
    if (i % 8 == 7)
      c = plainCase(random, narrowTypes[i % 3], {20, 1030, 33, 16, 1, 2});
    c.desc.leaves = int32_t(i % 2);
    forceIsa(Isa::Scalar);
    Case forward = c;
    runCase(forward);
    Case gradient = anyGradient(random, forward);
    gradient.desc.leaves = c.desc.leaves;
    Case backward = gradient;
    runCase(backward);
    for (Isa isa : allIsas) {
      if (!forceIsa(isa) ||
          (c.desc.type == bf16 && !c.desc.leaves && isa >= Isa::Avx512Bf16))
        continue;
      Case again = c;
      runCase(again);
      EXPECT_EQ(compareResults(again, forward), "")
          << isaName(isa) << textOf(c);
      again = gradient;
      runCase(again);
      EXPECT_EQ(compareResults(again, backward), "")
          << isaName(isa) << textOf(gradient);
    }
  }
  forceIsa(detectIsa());
}

/// The answers that come with the generator's definition.
TEST(Attention, RandomWordsAreThoseOfThreefry) {
  auto words = [](uint32_t low, uint32_t high, uint32_t x, uint32_t y) {
    RandomWords<uint32_t> made = {x, y};
    threefry(low, high, made);
    return std::pair(made.first, made.second);
  };
  EXPECT_EQ(words(0, 0, 0, 0), std::pair(0x6b200159u, 0x99ba4efeu));
  EXPECT_EQ(words(~0u, ~0u, ~0u, ~0u), std::pair(0x1cb996fcu, 0xbb002be7u));
  EXPECT_EQ(words(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3),
            std::pair(0xc4923a9cu, 0x483df7a0u));
}

/// Of many keys the part that is kept is near what is said.
TEST(Attention, KeepsAsManyKeysAsTheRateSays) {
  Random random(17);
  Case c = plainCase(random, f32, {64, 1024, 1, 1});
  for (int tensor : {WEFT_RT_ATTENTION_Q, WEFT_RT_ATTENTION_V}) {
    const size_t count = c.data[tensor].size() / sizeof(float);
    for (size_t i = 0; i < count; ++i)
      writeAs(c.data[tensor].data(), f32, int64_t(i),
              tensor == WEFT_RT_ATTENTION_V);
  }
  addDropout(random, c, 0.25f);
  runCase(c);
  double sum = 0;
  for (double out : elementsOf(c, WEFT_RT_ATTENTION_OUT))
    sum += out;
  EXPECT_NEAR(sum / 64, 1, 0.01);
}

Case simple() {
  Random random(12);
  return plainCase(random, f32, {4, 6, 8, 2, 1, 2});
}

const char *reasonAfter(void (*edit)(weft_rt_attention &)) {
  Case c = simple();
  edit(c.desc);
  const char *reason = attentionReason(c.desc);
  return reason ? reason : "";
}

#define EXPECT_REASON(reason, ...)                                             \
  EXPECT_STREQ(reasonAfter([](weft_rt_attention &d) { __VA_ARGS__; }), reason)

TEST(AttentionSupported, NamesTheReason) {
  EXPECT_REASON("", (void)d);
  EXPECT_REASON("number of dimensions out of range", d.num_dims = 9);
  EXPECT_REASON("number of dimensions out of range", d.num_dims = -1);
  EXPECT_REASON("type not supported", d.type = WEFT_RT_F64);
  EXPECT_REASON("type of bias or of a gradient is neither f32 nor that of "
                "queries",
                d.type_dk = WEFT_RT_BF16);
  EXPECT_REASON("backward is neither 0 nor 1", d.backward = 2);
  EXPECT_REASON("scale is not finite", d.scale = infinity);
  EXPECT_REASON("softcap is negative or not finite", d.softcap = -1);
  EXPECT_REASON("softcap is negative or not finite", d.softcap = std::nanf(""));
  EXPECT_REASON("dropout is not at least 0 and below 1", d.dropout = 1);
  EXPECT_REASON("dropout is not at least 0 and below 1", d.dropout = -0.5f);
  EXPECT_REASON("bound of keys that are seen below -1", d.left = -2);
  EXPECT_REASON("negative number of leaves", d.leaves = -1);
  EXPECT_REASON("unknown role of a dimension", d.dims[0].role = 6);
  EXPECT_REASON("negative size", d.dims[2].size = -1);
  EXPECT_REASON("negative stride", d.dims[2].stride_q = -1);
  EXPECT_REASON("stride in a tensor that lacks the dimension",
                d.dims[1].stride_k = 1);
  EXPECT_REASON("an element of a result is addressed more than once",
                d.dims[2].stride_out = 0);
  EXPECT_REASON("", d.dims[2].stride_q = 0);
  EXPECT_REASON("sizes too large", d.dims[2].size = int64_t(1) << 57);
  EXPECT_REASON("strides too large", d.dims[2].stride_q = int64_t(1) << 60);
  EXPECT_REASON("not one dimension each of queries, keys, depth and values",
                d.dims[1].role = WEFT_RT_ATTENTION_QUERY);
  EXPECT_REASON("not one dimension each of queries, keys, depth and values",
                d.num_dims = 5);
  EXPECT_REASON("depth or values above 2048", d.dims[5].size = 2049);
}

TEST(AttentionSupported, NamesTheReasonOfGradients) {
  Random random(13);
  Case c = gradientOf(random, simple(), f32, f32, f32, 8);
  EXPECT_EQ(attentionReason(c.desc), nullptr);
  c.desc.leaves = 3;
  EXPECT_STREQ(attentionReason(c.desc),
               "number of leaves does not divide groups times queries");
}

TEST(AttentionSupported, NamesWhatBuffersLack) {
  Case c = simple();
  void *buffers[WEFT_RT_ATTENTION_NUM_BUFFERS] = {};
  for (int tensor :
       {WEFT_RT_ATTENTION_Q, WEFT_RT_ATTENTION_K, WEFT_RT_ATTENTION_V,
        WEFT_RT_ATTENTION_OUT, WEFT_RT_ATTENTION_LSE})
    buffers[tensor] = c.data[tensor].data();
  EXPECT_EQ(attentionBuffersReason(c.desc, buffers), nullptr);
  buffers[WEFT_RT_ATTENTION_Q_SEGMENTS] = buffers[0];
  EXPECT_STREQ(attentionBuffersReason(c.desc, buffers),
               "segments of queries or of keys alone");
  buffers[WEFT_RT_ATTENTION_K_SEGMENTS] = buffers[0];
  EXPECT_EQ(attentionBuffersReason(c.desc, buffers), nullptr);
  c.desc.dropout = 0.5f;
  EXPECT_STREQ(attentionBuffersReason(c.desc, buffers),
               "low or high seeds alone, or a dropout without seeds");
  buffers[WEFT_RT_ATTENTION_LOW_SEEDS] = buffers[0];
  c.desc.dropout = 0;
  EXPECT_STREQ(attentionBuffersReason(c.desc, buffers),
               "low or high seeds alone, or a dropout without seeds");
  buffers[WEFT_RT_ATTENTION_HIGH_SEEDS] = buffers[0];
  EXPECT_EQ(attentionBuffersReason(c.desc, buffers), nullptr);
  c.desc.backward = 1;
  EXPECT_STREQ(attentionBuffersReason(c.desc, buffers),
               "no address of a tensor that must be there");
}

} // namespace
