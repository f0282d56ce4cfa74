// SPDX-License-Identifier: Apache-2.0

// Row kernels for AVX-512 (F, BW, DQ, VL).

#include "rows_template.h"

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

struct Avx512Lanes {
  using V = __m512;

  static V set(float value) { return _mm512_set1_ps(value); }
  static V load(const float *from) { return _mm512_loadu_ps(from); }
  static void store(float *to, V x) { _mm512_storeu_ps(to, x); }
  static V add(V x, V y) { return _mm512_add_ps(x, y); }
  static V sub(V x, V y) { return _mm512_sub_ps(x, y); }
  static V mul(V x, V y) { return _mm512_mul_ps(x, y); }
  static V div(V x, V y) { return _mm512_div_ps(x, y); }
  static V fma(V x, V y, V z) { return _mm512_fmadd_ps(x, y, z); }
  static V larger(V x, V y) { // maxps gives the second where one is a NaN
    return _mm512_max_ps(x, y);
  }
  static V selectLess(V x, V y, V a, V b) {
    return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), a);
  }
  static V selectNan(V x, V y) {
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
  }
  static V scaleByTwoTo(V x, V y) {
    return _mm512_castsi512_ps(_mm512_add_epi32(
        _mm512_castps_si512(x), _mm512_slli_epi32(_mm512_castps_si512(y), 23)));
  }
  static V abs(V x) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x); }
  static V copySign(V size, V x) {
    const V sign = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(sign, size), _mm512_and_ps(sign, x));
  }
  /// As narrow() in convert.h; vcvtneps2bf16 takes subnormal numbers for zero.
  static void storeBf16(uint16_t *to, V x) {
    __m512i bits = _mm512_castps_si512(x);
    __m512i top = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
    __m512i rounded =
        _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd),
                                           _mm512_set1_epi32(0x7fff)),
                          16);
    __mmask16 isNan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    rounded =
        _mm512_mask_or_epi32(rounded, isNan, top, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                        _mm512_cvtepi32_epi16(rounded));
  }
};

} // namespace

const RowKernels kAvx512Rows = makeRowKernels<Avx512Lanes>();

} // namespace weft::rt::detail
