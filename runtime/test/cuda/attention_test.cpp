// SPDX-License-Identifier: Apache-2.0

// Attention by the backend's own kernels, run as code for this processor, has
// the bits of the host's.

#include "backends/cuda/attention.h"

#include "attention_test_util.h"
#include "gemm_test_fixture.h"

using namespace weft::rt;
using namespace weft::rt::test;

extern "C" {
#define WEFT_KERNEL(name)                                                      \
  void name(void **params, const uint32_t *grid, const uint32_t *block,        \
            uint32_t shared);
WEFT_KERNEL(weft_attention_forward)
WEFT_KERNEL(weft_attention_queries)
WEFT_KERNEL(weft_attention_keys)
WEFT_KERNEL(weft_attention_forward_bf16)
WEFT_KERNEL(weft_attention_queries_bf16)
WEFT_KERNEL(weft_attention_keys_bf16)
}

namespace {

constexpr decltype(&weft_attention_keys) kernels[] = {
    weft_attention_forward,      weft_attention_queries,
    weft_attention_keys,         weft_attention_forward_bf16,
    weft_attention_queries_bf16, weft_attention_keys_bf16};
constexpr weft_rt_type types[] = {f32, bf16, f16};

void runKernels(Case &c) {
  void *buffers[WEFT_RT_ATTENTION_NUM_BUFFERS];
  for (int tensor = 0; tensor < WEFT_RT_ATTENTION_NUM_BUFFERS; ++tensor)
    buffers[tensor] = c.has(tensor) ? c.data[tensor].data() : nullptr;
  std::vector<char> scratch(size_t(cuda::attentionScratchBytes(c.desc)) + 1);
  cuda::AttentionArgs args =
      cuda::attentionArgs(c.desc, buffers, c.queryStart, scratch.data());
  for (const cuda::AttentionLaunch &launch :
       cuda::attentionLaunches(c.desc, args)) {
    void *params[] = {&args};
    const uint32_t grid[3] = {uint32_t(launch.blocks), 1, 1},
                   block[3] = {256, 1, 1};
    kernels[launch.kernel](params, grid, block, 0);
  }
}

class CudaAttention : public testing::Test {
protected:
  /// In open order, bf16 is summed as it is here below AVX-512 BF16.
  void SetUp() override {
    before = activeIsa();
    forceIsa(before < Isa::Avx512 ? before : Isa::Avx2);
  }
  void TearDown() override { forceIsa(before); }

  Isa before;
};

/// Runs a case on both, and returns what differs, or "".
std::string compare(Case &c) {
  Case got = c;
  runCase(c);
  runKernels(got);
  return compareResults(got, c);
}

std::string compareGradient(Random &random, const Case &forward, int leaves) {
  auto any = [&] { return random.below(2) ? f32 : forward.desc.type; };
  Case c = gradientOf(random, forward, any(), any(), any(), leaves);
  return compare(c);
}

/// A number of leaves that divides groups times queries.
int leavesFor(Random &random, const Case &c, int most) {
  int64_t rows = 1;
  for (int i = 0; i < c.desc.num_dims; ++i)
    if (c.desc.dims[i].role == WEFT_RT_ATTENTION_GROUP ||
        c.desc.dims[i].role == WEFT_RT_ATTENTION_QUERY)
      rows *= c.desc.dims[i].size;
  auto leaves = int(random.below(most + 1));
  while (leaves > 1 && rows % leaves != 0)
    --leaves;
  return leaves;
}

TEST_F(CudaAttention, AnyDimsStridesAndMasks) {
  Random random(1);
  for (int i = 0; i < 90; ++i) {
    Case c = randomCase(random, types[i % 3], i < 12 ? 130 : 40);
    c.desc.leaves = int32_t(random.below(2));
    ASSERT_EQ(compare(c), "") << textOf(c);
    int leaves = leavesFor(random, c, 16);
    ASSERT_EQ(compareGradient(random, c, leaves), "")
        << leaves << " leaves, " << textOf(c);
  }
}

/// Several blocks of keys and of queries, of which some are not seen.
TEST_F(CudaAttention, Blocks) {
  Random random(2);
  for (weft_rt_type type : types)
    for (int64_t right : {-1, 0}) {
      Case c = plainCase(random, type, {140, 1100, 8, 5, 1, 2});
      c.desc.scale = 0.5f;
      c.desc.right = right;
      c.desc.left = right ? -1 : 300;
      c.queryStart = right ? 0 : 600;
      c.desc.leaves = 1;
      ASSERT_EQ(compare(c), "") << textOf(c);
      for (int leaves : {0, 1, 4})
        ASSERT_EQ(compareGradient(random, c, leaves), "") << textOf(c);
    }
}

/// Heads of several chunks, and chains over more than 512 elements.
TEST_F(CudaAttention, LargeHeads) {
  Random random(3);
  for (weft_rt_type type : types) {
    Case c = plainCase(random, type, {5, 9, 530, 140, 1, 1});
    c.desc.scale = 0.125f;
    c.desc.leaves = 1;
    ASSERT_EQ(compare(c), "") << textOf(c);
    ASSERT_EQ(compareGradient(random, c, 5), "") << textOf(c);
  }
}

/// Short leaves that share a run of queries, and as many as there is room for.
TEST_F(CudaAttention, ManyLeaves) {
  Random random(4);
  for (weft_rt_type type : types) {
    Case c = plainCase(random, type, {128, 20, 8, 8, 1, 6});
    c.desc.scale = 0.25f;
    c.desc.leaves = 1;
    ASSERT_EQ(compare(c), "") << textOf(c);
    for (int leaves : {3, 12, 48, 256})
      ASSERT_EQ(compareGradient(random, c, leaves), "") << textOf(c);
  }
}

/// A query that sees no key, and masks whose scores swallow the logarithm.
TEST_F(CudaAttention, NothingIsSeen) {
  Random random(5);
  for (weft_rt_type type : types)
    for (float fill : {-1e30f, -__builtin_inff()}) {
      Case c = plainCase(random, type, {40, 30, 8, 8, 1, 1});
      c.desc.scale = 0.5f;
      c.queryStart = -3;
      c.desc.right = 0;
      addMask(random, c, fill);
      std::fill(c.data[WEFT_RT_ATTENTION_MASK].begin(),
                c.data[WEFT_RT_ATTENTION_MASK].end(), 0);
      c.desc.leaves = 1;
      ASSERT_EQ(compare(c), "") << textOf(c);
      ASSERT_EQ(compareGradient(random, c, 2), "") << textOf(c);
    }
}

TEST_F(CudaAttention, RefusesMoreLeavesThanItHasRoomFor) {
  Random random(6);
  Case forward = plainCase(random, f32, {257, 3, 4, 4, 1, 1});
  forward.desc.leaves = 257;
  EXPECT_EQ(cuda::cudaAttentionReason(forward.desc), nullptr);
  Case c = gradientOf(random, forward, f32, f32, f32, 257);
  EXPECT_STREQ(cuda::cudaAttentionReason(c.desc),
               "more than 256 leaves, for which the backend 'cuda' has no "
               "room");
}

} // namespace
