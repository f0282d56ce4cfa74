// SPDX-License-Identifier: Apache-2.0

// Row kernels for AVX2 + FMA: two 256-bit vectors per group.

#include "rows_template.h"

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

struct Avx2Lanes {
  struct V {
    __m256 low, high;
  };

  static V set(float value) {
    __m256 all = _mm256_set1_ps(value);
    return {all, all};
  }
  static V load(const float *from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static void store(float *to, V x) {
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
  }
  static V add(V x, V y) {
    return {_mm256_add_ps(x.low, y.low), _mm256_add_ps(x.high, y.high)};
  }
  static V sub(V x, V y) {
    return {_mm256_sub_ps(x.low, y.low), _mm256_sub_ps(x.high, y.high)};
  }
  static V mul(V x, V y) {
    return {_mm256_mul_ps(x.low, y.low), _mm256_mul_ps(x.high, y.high)};
  }
  static V div(V x, V y) {
    return {_mm256_div_ps(x.low, y.low), _mm256_div_ps(x.high, y.high)};
  }
  static V fma(V x, V y, V z) {
    return {_mm256_fmadd_ps(x.low, y.low, z.low),
            _mm256_fmadd_ps(x.high, y.high, z.high)};
  }
  static V larger(V x, V y) { // maxps gives the second where one is a NaN
    return {_mm256_max_ps(x.low, y.low), _mm256_max_ps(x.high, y.high)};
  }
  static V selectLess(V x, V y, V a, V b) {
    return {
        _mm256_blendv_ps(b.low, a.low, _mm256_cmp_ps(x.low, y.low, _CMP_LT_OQ)),
        _mm256_blendv_ps(b.high, a.high,
                         _mm256_cmp_ps(x.high, y.high, _CMP_LT_OQ))};
  }
  static V selectNan(V x, V y) {
    return {_mm256_blendv_ps(y.low, x.low,
                             _mm256_cmp_ps(x.low, x.low, _CMP_UNORD_Q)),
            _mm256_blendv_ps(y.high, x.high,
                             _mm256_cmp_ps(x.high, x.high, _CMP_UNORD_Q))};
  }
  static V scaleByTwoTo(V x, V y) {
    return {scaleHalf(x.low, y.low), scaleHalf(x.high, y.high)};
  }
  static V abs(V x) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
  }
  static V copySign(V size, V x) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_or_ps(_mm256_andnot_ps(sign, size.low),
                         _mm256_and_ps(sign, x.low)),
            _mm256_or_ps(_mm256_andnot_ps(sign, size.high),
                         _mm256_and_ps(sign, x.high))};
  }
  static void storeBf16(uint16_t *to, V x) {
    __m256i packed =
        _mm256_packus_epi32(roundToBf16(x.low), roundToBf16(x.high));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                        _mm256_permute4x64_epi64(packed, 0xd8));
  }

private:
  static __m256 scaleHalf(__m256 x, __m256 y) {
    return _mm256_castsi256_ps(_mm256_add_epi32(
        _mm256_castps_si256(x), _mm256_slli_epi32(_mm256_castps_si256(y), 23)));
  }
  /// As narrow() in convert.h, in 32 bits.
  static __m256i roundToBf16(__m256 x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i top = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
    __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, odd),
                                           _mm256_set1_epi32(0x7fff)),
                          16);
    __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
    __m256i isNan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, quiet, isNan);
  }
};

} // namespace

const RowKernels kAvx2Rows = makeRowKernels<Avx2Lanes>();

} // namespace weft::rt::detail
