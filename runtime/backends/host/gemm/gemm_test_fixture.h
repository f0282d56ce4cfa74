// SPDX-License-Identifier: Apache-2.0

// Tests that run once for each instruction set, over all types.

#ifndef WEFT_RT_GEMM_GEMM_TEST_FIXTURE_H
#define WEFT_RT_GEMM_GEMM_TEST_FIXTURE_H

#include "gemm_test_util.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::rt::test {

constexpr weft_rt_type f32 = WEFT_RT_F32, f64 = WEFT_RT_F64,
                       bf16 = WEFT_RT_BF16, f16 = WEFT_RT_F16;
constexpr Isa allIsas[] = {Isa::Scalar, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16,
                           Isa::AmxBf16};

struct Types {
  weft_rt_type a, b, c;
};
constexpr Types allTypes[] = {
    {f32, f32, f32},  {bf16, bf16, f32}, {bf16, bf16, bf16}, {f16, f16, f32},
    {f16, f16, f16},  {f32, bf16, f32},  {bf16, f32, f32},   {f64, f64, f64},
    {f32, f16, f32},  {f16, f32, f32},   {f32, f32, bf16},   {f32, bf16, bf16},
    {bf16, f32, bf16}};

class IsaTest : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override;
  void TearDown() override;
};

std::string nameOfIsa(const testing::TestParamInfo<Isa> &info);

} // namespace weft::rt::test

#endif // WEFT_RT_GEMM_GEMM_TEST_FIXTURE_H
