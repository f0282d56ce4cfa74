// SPDX-License-Identifier: Apache-2.0

// Transposes 16 x 16 elements of 32 bits in AVX-512 registers. Internal
// linkage, as the file is compiled with several sets of flags.

#ifndef WEFT_RT_GEMM_TRANSPOSE16_H
#define WEFT_RT_GEMM_TRANSPOSE16_H

#include <immintrin.h>

namespace weft::rt::detail {
namespace {

/// 4x4 blocks first, then the blocks.
inline void transpose16(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 4) {
    __m512 lo01 = _mm512_unpacklo_ps(r[i], r[i + 1]);
    __m512 hi01 = _mm512_unpackhi_ps(r[i], r[i + 1]);
    __m512 lo23 = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
    __m512 hi23 = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm512_shuffle_ps(lo01, lo23, 0x44);
    t[i + 1] = _mm512_shuffle_ps(lo01, lo23, 0xee);
    t[i + 2] = _mm512_shuffle_ps(hi01, hi23, 0x44);
    t[i + 3] = _mm512_shuffle_ps(hi01, hi23, 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    __m512 even01 = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
    __m512 odd01 = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    __m512 even23 = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    __m512 odd23 = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    r[i] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_TRANSPOSE16_H
