// SPDX-License-Identifier: Apache-2.0

// AVX2 + FMA + F16C kernels: 6 rows of two 256-bit vectors.

#include "amx_chain.h"

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

/// The first `count` lanes of 32 bits, 0 <= count <= 8.
inline __m256i firstLanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

struct Avx2F32 {
  using Acc = float;
  using V = __m256;
  static constexpr int kWidth = 8, kRows = 6, kVecs = 2;
  static constexpr bool kKnowsSteps = true;

  static V zero() { return _mm256_setzero_ps(); }
  static V load(const float *from) { return _mm256_loadu_ps(from); }
  static V load(const Bf16 *from) {
    __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static V load(const F16 *from) {
    return _mm256_cvtph_ps(
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
  }
  static V loadPartial(const float *from, int count) {
    return _mm256_maskload_ps(from, firstLanes(count));
  }
  template <class In> static V loadPartial(const In *from, int count) {
    In whole[kWidth] = {};
    for (int i = 0; i < count; ++i)
      whole[i] = from[i];
    return load(whole);
  }
  static V broadcast(const float *from) { return _mm256_broadcast_ss(from); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static void store(float *to, V value) { _mm256_storeu_ps(to, value); }
  static void storePartial(float *to, V value, int count) {
    _mm256_maskstore_ps(to, firstLanes(count), value);
  }
  static void transpose(V (&r)[8]) {
    V t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
        u[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
        u[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xee);
      }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
      r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
  }
};

struct Avx2AmxChain : Avx2F32 {
  static constexpr int kChainRows = 3; // even and odd sums: 12 vectors
  using Mode = SubnormalsAsZero;
};

struct Avx2F64 {
  using Acc = double;
  using V = __m256d;
  static constexpr int kWidth = 4, kRows = 6, kVecs = 2;
  static constexpr bool kKnowsSteps = true;

  static __m256i firstLanes64(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count),
                              _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static V zero() { return _mm256_setzero_pd(); }
  static V load(const double *from) { return _mm256_loadu_pd(from); }
  static V loadPartial(const double *from, int count) {
    return _mm256_maskload_pd(from, firstLanes64(count));
  }
  static V broadcast(const double *from) { return _mm256_broadcast_sd(from); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static void store(double *to, V value) { _mm256_storeu_pd(to, value); }
  static void storePartial(double *to, V value, int count) {
    _mm256_maskstore_pd(to, firstLanes64(count), value);
  }
  static void transpose(V (&r)[4]) {
    V t0 = _mm256_unpacklo_pd(r[0], r[1]), t1 = _mm256_unpackhi_pd(r[0], r[1]);
    V t2 = _mm256_unpacklo_pd(r[2], r[3]), t3 = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
    r[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
    r[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
    r[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
  }
};

/// Tiles have few rows. So more of them are packed together, and each panel of
/// B is read more often.
constexpr KernelSet withSmallTiles(KernelSet set) {
  set.tilesPerBlock = 64 / set.accBytes; // they fill kPackedABytes
  set.spreadsB = true;
  return set;
}

} // namespace

const KernelSet kAvx2F32 = withSmallTiles(makeF32Kernels<Avx2F32>());
const KernelSet kAvx2AmxChain =
    withSmallTiles(makeAmxChainKernels<Avx2AmxChain, Avx2F32>());
const KernelSet kAvx2F64 = withSmallTiles(makeF64Kernels<Avx2F64>());

} // namespace weft::rt::detail
