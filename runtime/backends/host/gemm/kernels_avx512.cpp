// SPDX-License-Identifier: Apache-2.0

// AVX-512 kernels: 14 rows of two 512-bit vectors.

#include "amx_chain.h"
#include "transpose16.h"

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

inline __mmask16 firstLanes(int count) { return __mmask16((1u << count) - 1); }

struct Avx512F32 {
  using Acc = float;
  using V = __m512;
  static constexpr int kWidth = 16, kRows = 14, kVecs = 2;
  static constexpr bool kKnowsSteps = true;

  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float *from) { return _mm512_loadu_ps(from); }
  static V widenBf16(__m256i bits) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static V load(const Bf16 *from) {
    return widenBf16(
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
  }
  static V load(const F16 *from) {
    return _mm512_cvtph_ps(
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
  }
  static V loadPartial(const float *from, int count) {
    return _mm512_maskz_loadu_ps(firstLanes(count), from);
  }
  static V loadPartial(const Bf16 *from, int count) {
    return widenBf16(_mm256_maskz_loadu_epi16(firstLanes(count), from));
  }
  static V loadPartial(const F16 *from, int count) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(firstLanes(count), from));
  }
  static V broadcast(const float *from) { return _mm512_set1_ps(*from); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static void store(float *to, V value) { _mm512_storeu_ps(to, value); }
  static void storePartial(float *to, V value, int count) {
    _mm512_mask_storeu_ps(to, firstLanes(count), value);
  }
  static void transpose(V (&r)[16]) { transpose16(r); }
};

struct Avx512AmxChain : Avx512F32 {
  static constexpr int kChainRows = 7; // even and odd sums: 28 vectors
  using Mode = SubnormalsAsZero;
};

struct Avx512F64 {
  using Acc = double;
  using V = __m512d;
  static constexpr int kWidth = 8, kRows = 14, kVecs = 2;
  static constexpr bool kKnowsSteps = false;

  static V zero() { return _mm512_setzero_pd(); }
  static V load(const double *from) { return _mm512_loadu_pd(from); }
  static V loadPartial(const double *from, int count) {
    return _mm512_maskz_loadu_pd(__mmask8(firstLanes(count)), from);
  }
  static V broadcast(const double *from) { return _mm512_set1_pd(*from); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static void store(double *to, V value) { _mm512_storeu_pd(to, value); }
  static void storePartial(double *to, V value, int count) {
    _mm512_mask_storeu_pd(to, __mmask8(firstLanes(count)), value);
  }
  static void transpose(V (&r)[8]) {
    V t[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      V even01 = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
      V odd01 = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
      V even23 = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
      V odd23 = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
      r[i] = _mm512_shuffle_f64x2(even01, even23, 0x88);
      r[i + 4] = _mm512_shuffle_f64x2(even01, even23, 0xdd);
      r[i + 2] = _mm512_shuffle_f64x2(odd01, odd23, 0x88);
      r[i + 6] = _mm512_shuffle_f64x2(odd01, odd23, 0xdd);
    }
  }
};

} // namespace

const KernelSet kAvx512F32 = makeF32Kernels<Avx512F32>();
const KernelSet kAvx512AmxChain =
    makeAmxChainKernels<Avx512AmxChain, Avx512F32>();
const KernelSet kAvx512F64 = makeF64Kernels<Avx512F64>();

} // namespace weft::rt::detail
