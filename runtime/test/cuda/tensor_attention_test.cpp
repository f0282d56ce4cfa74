// SPDX-License-Identifier: Apache-2.0

// Attention on tensor cores, run as code for this processor: errors no larger
// than those of plain code, the same bits at each run, and which calls are its.

#include "backends/cuda/tensor_attention.h"

#include "attention_test_util.h"
#include "gemm_test_fixture.h"

#include <cmath>

using namespace weft::rt;
using namespace weft::rt::test;

#define WEFT_NAMES_OF_TYPE(prefix, type)                                       \
  prefix##rows_##type, prefix##forward_##type##_64, prefix##keys_##type##_64,  \
      prefix##queries_##type##_64, prefix##forward_##type##_128,               \
      prefix##keys_##type##_128, prefix##queries_##type##_128
#define WEFT_NAMES(prefix)                                                     \
  WEFT_NAMES_OF_TYPE(prefix, bf16), WEFT_NAMES_OF_TYPE(prefix, f16)

using Kernel = void(void **params, const uint32_t *grid, const uint32_t *block,
                    uint32_t shared);
extern "C" Kernel WEFT_NAMES(weft_tensor_attention_),
    WEFT_NAMES(weft_group_attention_);

namespace {

constexpr Kernel *kernels[2][cuda::numTensorKernels] = {
    {WEFT_NAMES(weft_tensor_attention_)}, {WEFT_NAMES(weft_group_attention_)}};
constexpr weft_rt_type types[] = {bf16, f16};

struct Buffers {
  explicit Buffers(Case &c) {
    for (int tensor = 0; tensor < WEFT_RT_ATTENTION_NUM_BUFFERS; ++tensor)
      data[tensor] = c.has(tensor) ? c.data[tensor].data() : nullptr;
  }
  void *data[WEFT_RT_ATTENTION_NUM_BUFFERS];
};

const char *reasonOf(Case &c) {
  return cuda::tensorCoresReason(c.desc, Buffers(c).data);
}
std::string reasonText(Case c) {
  const char *reason = reasonOf(c);
  return reason ? reason : "";
}

void runKernels(Case &c, bool hasGroups) {
  Buffers buffers(c);
  ASSERT_EQ(reasonText(c), "");
  std::vector<float> scratch(
      size_t(cuda::attentionScratchBytes(c.desc)) / 4 + 4, __builtin_nanf(""));
  void *aligned = scratch.data();
  cuda::AttentionArgs args =
      cuda::attentionArgs(c.desc, buffers.data, c.queryStart, aligned);
  for (const cuda::AttentionLaunch &launch :
       cuda::tensorAttentionLaunches(c.desc, args, hasGroups)) {
    void *params[] = {&args};
    const uint32_t grid[3] = {uint32_t(launch.blocks), 1, 1},
                   block[3] = {uint32_t(launch.threads), 1, 1};
    kernels[hasGroups][launch.kernel](params, grid, block,
                                      uint32_t(launch.sharedBytes));
  }
}

/// The gradient with a layout that tensor cores take.
Case gradientFor(Random &random, const Case &forward) {
  auto any = [&] { return random.below(2) ? f32 : forward.desc.type; };
  while (true) {
    Case c = gradientOf(random, forward, any(), any(), any(), 0);
    if (!reasonOf(c))
      return c;
  }
}

/// Without and with groups of warps.
class TensorAttention : public testing::TestWithParam<bool> {
protected:
  /// Both passes against plain code; the gradient is of what the forward pass
  /// gave.
  void check(Random &random, Case &c) {
    SCOPED_TRACE(textOf(c));
    runKernels(c, GetParam());
    ASSERT_EQ(compareWithReference(c, true), "");
    Case gradient = gradientFor(random, c), again = gradient;
    SCOPED_TRACE(textOf(gradient));
    runKernels(gradient, GetParam());
    ASSERT_EQ(compareWithReference(gradient, true), "");
    runKernels(again, GetParam());
    ASSERT_EQ(compareResults(again, gradient), "");
  }
};

TEST_P(TensorAttention, SizesOfHeads) {
  Random random(1);
  for (weft_rt_type type : types)
    for (auto [depth, value] : {std::pair(64, 64),
                                {128, 128},
                                {8, 8},
                                {72, 40},
                                {16, 96},
                                {120, 128}}) {
      Case c = plainCase(random, type, {70, 90, depth, value, 1, 2});
      c.desc.scale = float(1 / std::sqrt(double(depth)));
      check(random, c);
    }
}

/// Several tiles, causal, with windows and starts, some queries without keys.
TEST_P(TensorAttention, Windows) {
  Random random(2);
  struct {
    int64_t left, right, start;
  } windows[] = {{-1, 0, 0}, {-1, 0, 37},   {-1, 0, -40},
                 {20, 0, 0}, {70, 10, 3},   {-1, -1, 100},
                 {0, 0, 0},  {5, 300, 500}, {3, 3, 900}};
  for (int64_t head : {64, 128})
    for (auto [left, right, start] : windows) {
      weft_rt_type type = types[random.below(2)];
      Case c = plainCase(random, type, {150, 200, head, head, 1, 1});
      c.desc.scale = 0.125f;
      c.desc.left = left;
      c.desc.right = right;
      c.queryStart = start;
      check(random, c);
    }
}

/// More tiles than stages, heads that share keys, and batches.
TEST_P(TensorAttention, ManyTiles) {
  Random random(3);
  for (int64_t head : {64, 128}) {
    Case c = plainCase(random, bf16, {150, 290, head, head, 2, 2});
    c.desc.scale = 0.125f;
    c.desc.right = 0;
    c.queryStart = 120;
    check(random, c);
  }
}

TEST(TensorAttentionReason, OtherCallsAreNotItsOwn) {
  Random random(4);
  Case plain = plainCase(random, bf16, {8, 8, 64, 64, 1, 1});
  EXPECT_EQ(reasonText(plain), "");
  auto with = [&](auto change) {
    Case c = plain;
    change(c);
    return reasonText(c);
  };
  EXPECT_EQ(reasonText(plainCase(random, f32, {8, 8, 64, 64, 1, 1})), "f32");
  EXPECT_EQ(with([](Case &c) { c.desc.leaves = 1; }), "a declared order");
  EXPECT_EQ(with([&](Case &c) { addDropout(random, c, 0.5f); }), "dropout");
  EXPECT_EQ(with([](Case &c) { c.desc.softcap = 1; }), "a soft cap");
  EXPECT_EQ(with([](Case &c) { c.desc.scale = -1; }),
            "a scale that is not positive");
  for (auto add : {+[](Random &r, Case &c) { addBias(r, c); },
                   +[](Random &r, Case &c) { addMask(r, c, 0); },
                   +[](Random &r, Case &c) { addSegments(r, c); }})
    EXPECT_EQ(with([&](Case &c) { add(random, c); }),
              "a bias, a mask, or segments");
  EXPECT_EQ(reasonText(plainCase(random, bf16, {8, 8, 136, 64, 1, 1})),
            "more than 128 elements of a head");
  EXPECT_EQ(reasonText(plainCase(random, bf16, {8, 8, 64, 63, 1, 1})),
            "heads that are not a multiple of 8 elements");
  EXPECT_EQ(reasonText(plainCase(random, bf16, {8, 0, 64, 64, 1, 1})),
            "nothing to compute");
  for (int dim = 2; dim < 6; ++dim)
    EXPECT_EQ(with([&](Case &c) {
                weft_rt_attention_dim &d = c.desc.dims[dim];
                (d.stride_q ? d.stride_q : d.stride_v) += 2;
              }),
              "elements of heads that do not lie side by side in chunks of 16 "
              "bytes");
  Buffers buffers(plain);
  buffers.data[WEFT_RT_ATTENTION_K] =
      static_cast<char *>(buffers.data[WEFT_RT_ATTENTION_K]) + 8;
  EXPECT_STREQ(cuda::tensorCoresReason(plain.desc, buffers.data),
               "a tensor that does not begin at a multiple of 16 bytes");
}

INSTANTIATE_TEST_SUITE_P(Kernels, TensorAttention, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Groups" : "Warps";
                         });

} // namespace
