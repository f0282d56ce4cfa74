// SPDX-License-Identifier: Apache-2.0

// AVX512_BF16 kernels: the f32 microkernel with pairs of bf16 in the place of
// floats and vdpbf16ps in the place of fma.

#include "kernel_template.h"
#include "pack_bf16.h"

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

struct Avx512Bf16Pairs {
  using Acc = float;
  using V = __m512;
  static constexpr int kWidth = 16, kRows = 14, kVecs = 2;
  static constexpr bool kKnowsSteps = false;

  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float *from) { return _mm512_loadu_ps(from); }
  static V loadPartial(const float *from, int count) {
    return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from);
  }
  static V broadcast(const float *pair) {
    int32_t bits; // a pair may lie at any even address
    memcpy(&bits, pair, sizeof bits);
    return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
  }
  static V fma(V a, V b, V c) {
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
  }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static void store(float *to, V value) { _mm512_storeu_ps(to, value); }
  static void storePartial(float *to, V value, int count) {
    _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), value);
  }
};

constexpr KernelSet makeBf16Kernels() {
  KernelSet set = makeKernels<Avx512Bf16Pairs>(WEFT_RT_BF16);
  set.kPerStep = set.kMultiple = 2;
  set.operandBytes = 2;
  set.directB = false;
  set.packLanes = packLanesBf16<2>;
  set.packRows = packRowsBf16<2>;
  set.flush = flushF32;
  set.fold = foldF32;
  return set;
}

} // namespace

const KernelSet kAvx512Bf16 = makeBf16Kernels();

} // namespace weft::rt::detail
