// SPDX-License-Identifier: Apache-2.0

// Packers for instructions that multiply pairs of bf16: two neighbours of K
// share 32 bits. With pairs as the unit, everything is a copy or a
// transposition of 32-bit elements. K is padded with zeros to a multiple of
// KMultiple. Internal linkage, as the file is compiled with several sets of
// flags.

#ifndef WEFT_RT_GEMM_PACK_BF16_H
#define WEFT_RT_GEMM_PACK_BF16_H

#include "kernels.h"
#include "transpose16.h"

namespace weft::rt::detail {
namespace {

constexpr int kPairLanes = 16;

inline __mmask32 firstOf32(int64_t count) {
  return count >= 32 ? ~__mmask32(0) : __mmask32((1u << count) - 1);
}

/// Up to 16 pairs of one lane whose elements are neighbours along K.
inline __m512 loadRun(const uint16_t *from, int64_t count) {
  if (count <= 0)
    return _mm512_setzero_ps();
  return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(firstOf32(count), from));
}

/// The pair (k, k + 1) of up to 16 lanes that are neighbours in memory.
inline __m512 interleave(const PackArgs &p, const uint16_t *src, int64_t k,
                         __mmask16 lanes) {
  __m512i low = _mm512_setzero_si512(), high = low;
  if (k < p.k)
    low = _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(lanes, src + p.kOffset[k]));
  if (k + 1 < p.k)
    high = _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(lanes, src + p.kOffset[k + 1]));
  return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/// The same for lanes anywhere.
inline __m512 gatherPairs(const PackArgs &p, const uint16_t *src,
                          const int64_t *offset, int lanes, int64_t k) {
  alignas(64) uint16_t pairs[2 * kPairLanes] = {};
  for (int i = 0; i < lanes; ++i)
    for (int j = 0; j < 2; ++j)
      if (k + j < p.k)
        pairs[2 * i + j] = src[offset[i] + p.kOffset[k + j]];
  return _mm512_castsi512_ps(_mm512_load_si512(pairs));
}

/// Squares of 16 lanes x 16 pairs.
inline void packPairsOfRuns(const PackArgs &p, const uint16_t *src,
                            const int64_t *offset, int lanes, int64_t pairs,
                            char *dst) {
  src += p.kOffset[0];
  for (int64_t pair = 0; pair < pairs; pair += kPairLanes) {
    __m512 square[kPairLanes];
    for (int i = 0; i < kPairLanes; ++i)
      square[i] = i < lanes
                      ? loadRun(src + offset[i] + 2 * pair, p.k - 2 * pair)
                      : _mm512_setzero_ps();
    transpose16(square);
    for (int i = 0; i < kPairLanes && pair + i < pairs; ++i)
      _mm512_storeu_ps(dst + (pair + i) * p.dstStride, square[i]);
  }
}

template <int KMultiple> void packLanesBf16(const PackArgs &p) {
  const uint16_t *src = static_cast<const uint16_t *>(p.src);
  const int64_t pairs = (p.k + KMultiple - 1) / KMultiple * KMultiple / 2;
  for (int lane = 0; lane < p.paddedLanes; lane += kPairLanes) {
    const int64_t *offset = p.laneOffset + lane;
    int lanes = p.lanes - lane;
    lanes = lanes < 0 ? 0 : lanes < kPairLanes ? lanes : kPairLanes;
    char *dst = static_cast<char *>(p.dst) + lane * sizeof(float);
    if (p.unitLanes) {
      for (int64_t pair = 0; pair < pairs; ++pair)
        _mm512_storeu_ps(dst + pair * p.dstStride,
                         interleave(p, src + offset[0], 2 * pair,
                                    __mmask16((1u << lanes) - 1)));
    } else if (p.unitK && p.k > 0) {
      packPairsOfRuns(p, src, offset, lanes, pairs, dst);
    } else {
      for (int64_t pair = 0; pair < pairs; ++pair)
        _mm512_storeu_ps(dst + pair * p.dstStride,
                         gatherPairs(p, src, offset, lanes, 2 * pair));
    }
  }
}

/// Rows from lanes that are neighbours in memory.
inline void packRowsOfLanes(const PackArgs &p, const uint16_t *src,
                            int64_t padded) {
  for (int lane = 0; lane < p.lanes; lane += kPairLanes) {
    int lanes = p.lanes - lane < kPairLanes ? p.lanes - lane : kPairLanes;
    __mmask16 mask = __mmask16((1u << lanes) - 1);
    for (int64_t k = 0; k < padded; k += 2 * kPairLanes) {
      __m512 square[kPairLanes];
      for (int i = 0; i < kPairLanes; ++i)
        square[i] = interleave(p, src + p.laneOffset[lane], k + 2 * i, mask);
      transpose16(square);
      for (int i = 0; i < lanes; ++i)
        _mm512_mask_storeu_epi16(
            static_cast<char *>(p.dst) + (lane + i) * p.dstStride + 2 * k,
            firstOf32(padded - k), _mm512_castps_si512(square[i]));
    }
  }
}

template <int KMultiple> void packRowsBf16(const PackArgs &p) {
  const uint16_t *src = static_cast<const uint16_t *>(p.src);
  const int64_t padded = (p.k + KMultiple - 1) / KMultiple * KMultiple;
  if (p.unitLanes && !p.unitK)
    return packRowsOfLanes(p, src, padded);
  for (int lane = 0; lane < p.lanes; ++lane) {
    const uint16_t *row = src + p.laneOffset[lane];
    uint16_t *dst = reinterpret_cast<uint16_t *>(static_cast<char *>(p.dst) +
                                                 lane * p.dstStride);
    int64_t k = 0;
    if (p.unitK && p.k > 0)
      for (; k < padded; k += 32)
        _mm512_mask_storeu_epi16(
            dst + k, firstOf32(padded - k),
            _mm512_castps_si512(loadRun(row + p.kOffset[0] + k, p.k - k)));
    for (; k < padded; ++k)
      dst[k] = k < p.k ? row[p.kOffset[k]] : 0;
  }
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_PACK_BF16_H
