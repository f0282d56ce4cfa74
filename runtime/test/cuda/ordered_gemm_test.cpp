// SPDX-License-Identifier: Apache-2.0

// Contractions by the backend's own kernels, run as code for this processor,
// have the bits that gemm.h declares.

#include "backends/cuda/ordered_gemm.h"

#include "gemm_test_fixture.h"

#include <cmath>

using namespace weft::rt;
using namespace weft::rt::test;
using weft::rt::cuda::GemmKernel;

extern "C" {
#define WEFT_KERNEL(name)                                                      \
  void name(void **params, const uint32_t *grid, const uint32_t *block,        \
            uint32_t shared);
WEFT_KERNEL(weft_gemm_f32_wide)
WEFT_KERNEL(weft_gemm_f32_narrow)
WEFT_KERNEL(weft_gemm_bf16_wide)
WEFT_KERNEL(weft_gemm_bf16_narrow)
WEFT_KERNEL(weft_gemm_f64_narrow)
}

namespace {

constexpr decltype(&weft_gemm_f32_wide) kernels[] = {
    weft_gemm_f32_wide, weft_gemm_f32_narrow, weft_gemm_bf16_wide,
    weft_gemm_bf16_narrow, weft_gemm_f64_narrow};

/// "" or what differs from the naive evaluation. In open order that is the one
/// of the instruction set whose order this is.
std::string compare(const Problem &problem) {
  std::vector<char> got = problem.c;
  cuda::OrderedGemmLaunch launch = cuda::orderedGemmLaunch(
      problem.desc, {problem.a.data(), problem.b.data(), got.data()});
  void *params[] = {&launch.args};
  const uint32_t grid[3] = {uint32_t(launch.blocks), 1, 1},
                 block[3] = {256, 1, 1};
  kernels[int(launch.kernel)](params, grid, block, 0);
  std::vector<char> want = evaluate(problem.desc, Isa::Scalar, problem.a.data(),
                                    problem.b.data(), problem.c);
  weft_rt_type type = problem.desc.type_c;
  for (int64_t i = 0; i < int64_t(got.size()) / bytesOf(type); ++i) {
    double x = readAs(got.data(), type, i), y = readAs(want.data(), type, i);
    bool isSame = std::isnan(x) ? std::isnan(y)
                                : x == y && std::signbit(x) == std::signbit(y);
    if (!isSame)
      return "element " + std::to_string(i) + ": " + std::to_string(x) +
             ", expected " + std::to_string(y);
  }
  return "";
}

Problem matrix(Random &random, const Types &t, int64_t m, int64_t n, int64_t k,
               int32_t leaves) {
  Problem problem = matrixProblem(random, t.a, t.b, t.c, m, n, k);
  problem.desc.leaves = leaves;
  problem.desc.rounded = leaves && random.below(2);
  return problem;
}

TEST(CudaOrderedGemm, AnyDimsAndStrides) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    Problem problem = randomProblem(random, t.a, t.b, t.c);
    if (i % 4)
      problem.chooseOrder(random, 24);
    ASSERT_EQ(compare(problem), "") << problem.text();
  }
}

/// Several squares of C, with rests.
TEST(CudaOrderedGemm, Squares) {
  Random random(2);
  for (const Types &t : allTypes)
    for (int32_t leaves : {0, 1, 3, 4, 16, 17}) {
      Problem problem = matrix(random, t, 65, 70, 17 * 16 * 3, leaves);
      ASSERT_EQ(compare(problem), "") << problem.text();
      problem = batchProblem(random, t.a, t.b, t.c, 3, 33, 40, 35);
      ASSERT_EQ(compare(problem), "") << problem.text();
    }
}

/// Steps and chains that are cut short.
TEST(CudaOrderedGemm, LeafLengths) {
  Random random(3);
  for (int32_t leaves : {1, 2, 7})
    for (int64_t leaf : {0, 1, 31, 32, 33, 511, 512, 513, 1100})
      for (const Types &t : allTypes) {
        Problem problem = matrix(random, t, 1 + random.below(36),
                                 1 + random.below(36), leaf * leaves, leaves);
        ASSERT_EQ(compare(problem), "") << problem.text();
      }
}

TEST(CudaOrderedGemm, ManyLeaves) {
  Random random(4);
  for (int32_t leaves : {512, 1023})
    for (const Types &t : allTypes) {
      Problem problem = matrix(random, t, 15, 33, leaves, leaves);
      ASSERT_EQ(compare(problem), "") << problem.text();
    }
}

/// Subnormal numbers, infinities, sums of no sign.
TEST(CudaOrderedGemm, SpecialValues) {
  Random random(5);
  for (int i = 0; i < 120; ++i) {
    const Types &t = allTypes[i % std::size(allTypes)];
    Problem problem = matrix(random, t, 1 + random.below(40),
                             1 + random.below(40), 132, i % 2 ? 4 : 1);
    if (i % 3 == 0)
      problem.poison(random);
    else if (i % 3 == 1)
      problem.makeExtreme(random);
    else
      problem.makeSparse(random);
    ASSERT_EQ(compare(problem), "") << problem.text();
  }
}

} // namespace
