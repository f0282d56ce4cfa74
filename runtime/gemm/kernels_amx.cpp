// SPDX-License-Identifier: Apache-2.0

// AMX kernels for bf16: 2 x 2 tile registers of 16 x 16 sums; A comes as rows
// of 32 k, B as 16 rows of pairs.

#include "convert.h"
#include "flush.h"
#include "kernels.h"
#include "pack_bf16.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

namespace weft::rt::detail {
namespace {

constexpr int kSide = 16;         // rows and columns of a tile register
constexpr int kPairsPerStep = 16; // of one tdpbf16ps
constexpr int kRowBytes = 64;     // of a tile register
constexpr int kPanel = 2 * kSide;

struct alignas(64) TileConfig {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};

// All eight registers are whole. A constant, because GCC 12 takes ldtilecfg for
// a read of 8 bytes and would drop stores to the rest.
constexpr TileConfig wholeTiles = {
    1,
    0,
    {},
    {kRowBytes, kRowBytes, kRowBytes, kRowBytes, kRowBytes, kRowBytes,
     kRowBytes, kRowBytes},
    {kSide, kSide, kSide, kSide, kSide, kSide, kSide, kSide}};

void beginTiles() { _tile_loadconfig(&wholeTiles); }

void endTiles() { _tile_release(); }

// ---- joins and rounding -----------------------------------------------------

inline __mmask16 isSubnormal(__m512 values) {
  constexpr int subnormal = 0x20;
  return _mm512_fpclass_ps_mask(values, subnormal);
}

/// Rounds to bf16: `low` in the lower half. For values that vcvtne2ps2bf16
/// would replace by zero.
[[gnu::noinline, gnu::cold]] __m512i roundSubnormal(__m512 low, __m512 high) {
  alignas(64) float values[kPanel];
  alignas(64) Bf16 rounded[kPanel];
  _mm512_store_ps(values, low);
  _mm512_store_ps(values + kSide, high);
  for (int i = 0; i < kPanel; ++i)
    narrow(values[i], rounded[i]);
  return _mm512_load_si512(rounded);
}

inline __m512i round(__m512 low, __m512 high) {
  if (__builtin_expect(isSubnormal(low) | isSubnormal(high), 0))
    return roundSubnormal(low, high);
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/// Columns of a row of bf16: even ones, widened, and odd ones.
inline __m512 evenOf(__m512i row) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(row, 16));
}
inline __m512 oddOf(__m512i row) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(row, _mm512_set1_epi32(int(0xffff0000))));
}

inline __m512i joinRounded(__m512i a, __m512i b) {
  const __m512i interleaved = _mm512_set_epi16(
      31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
      6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(interleaved,
                                  round(_mm512_add_ps(evenOf(a), evenOf(b)),
                                        _mm512_add_ps(oddOf(a), oddOf(b))));
}

template <class Element> inline Element *rowOf(const Sums &sums, int row) {
  return static_cast<Element *>(sums.data) + row * sums.ld;
}

/// Rows [begin, end) of the tile in flight. Columns are masked, as only C ends
/// where the tile does.
void finishRows(const TileInFlight &t, int begin, int end) {
  const __mmask32 mask = firstOf32(t.cols);
  const __mmask16 low = __mmask16(mask), high = __mmask16(mask >> kSide);
  for (int row = begin; row < end; ++row) {
    const float *sums = t.sums + row * kPanel;
    __m512 sum0 = _mm512_load_ps(sums), sum1 = _mm512_load_ps(sums + kSide);
    for (int i = 0; i < t.wideJoins; ++i) {
      const float *join = rowOf<float>(t.joins[i], row);
      sum0 = _mm512_add_ps(_mm512_maskz_loadu_ps(low, join), sum0);
      sum1 = _mm512_add_ps(_mm512_maskz_loadu_ps(high, join + kSide), sum1);
    }
    if (!t.narrow) {
      float *to = rowOf<float>(t.to, row);
      _mm512_mask_storeu_ps(to, low, sum0);
      _mm512_mask_storeu_ps(to + kSide, high, sum1);
      continue;
    }
    __m512i rounded = round(sum0, sum1);
    for (int i = t.wideJoins; i < t.numJoins; ++i)
      rounded = joinRounded(
          _mm512_maskz_loadu_epi16(mask, rowOf<Bf16>(t.joins[i], row)),
          rounded);
    _mm512_mask_storeu_epi16(rowOf<Bf16>(t.to, row), mask, rounded);
  }
}

/// Finishes a tile piece by piece: tile registers and vectors work at the same
/// time only if their instructions alternate.
class Finisher {
public:
  Finisher(const TileInFlight &tile, int64_t steps)
      : tile(tile), rows(int(std::max<int64_t>(2, tile.rows / steps + 1))) {}

  void advance() {
    if (done >= tile.rows)
      return;
    int end = std::min(tile.rows, done + rows);
    finishRows(tile, done, end);
    done = end;
  }
  void complete() { finishRows(tile, done, tile.rows); }

private:
  const TileInFlight &tile;
  const int rows; // at once
  int done = 0;
};

void drainAmx(TilePipeline &pipeline) {
  finishRows(pipeline.tile, 0, pipeline.tile.rows);
  pipeline.tile.rows = 0;
}

// ---- products ---------------------------------------------------------------

/// Sums of 32 x 32 in tile registers 0 to 3.
void multiply2x2(const TileArgs &t, Finisher &other) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const char *a = static_cast<const char *>(t.a);
  const char *b = static_cast<const char *>(t.b);
  for (int64_t k = 0; k < t.steps; k += kPairsPerStep) {
    _tile_loadd(6, b, t.bStep);
    _tile_loadd(4, a, t.aRow);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kRowBytes, t.bStep);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + kSide * t.aRow, t.aRow);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    other.advance();
    a += kPairsPerStep * t.aStep;
    b += kPairsPerStep * t.bStep;
  }
}

/// Sums of 16 x 32 in tile registers 0 and 1.
void multiply1x2(const TileArgs &t, Finisher &other) {
  _tile_zero(0);
  _tile_zero(1);
  const char *a = static_cast<const char *>(t.a);
  const char *b = static_cast<const char *>(t.b);
  for (int64_t k = 0; k < t.steps; k += kPairsPerStep) {
    _tile_loadd(4, a, t.aRow);
    _tile_loadd(6, b, t.bStep);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kRowBytes, t.bStep);
    _tile_dpbf16ps(1, 4, 7);
    other.advance();
    a += kPairsPerStep * t.aStep;
    b += kPairsPerStep * t.bStep;
  }
}

void storeTiles(float *c, int64_t ld, bool twoRows) {
  const int64_t bytes = ld * int64_t(sizeof(float));
  _tile_stored(0, c, bytes);
  _tile_stored(1, c + kSide, bytes);
  if (!twoRows)
    return;
  _tile_stored(2, c + kSide * ld, bytes);
  _tile_stored(3, c + kSide * ld + kSide, bytes);
}

/// What `t` is once its products are summed.
void takeOff(const TileArgs &t, TilePipeline &pipeline) {
  TileInFlight &tile = pipeline.tile;
  std::swap(tile.sums, pipeline.spare);
  storeTiles(tile.sums, kPanel, t.rows > kSide);
  tile.rows = t.rows;
  tile.cols = t.cols;
  tile.to = t.to;
  tile.narrow = t.narrow;
  tile.numJoins = t.numJoins;
  tile.wideJoins = t.wideJoins;
  std::copy_n(t.joins, t.numJoins, tile.joins);
}

void tileAmx(const TileArgs &t, TilePipeline &pipeline) {
  const bool twoRows = t.rows > kSide;
  const int64_t steps = t.steps / kPairsPerStep;
  Finisher other(pipeline.tile, std::max<int64_t>(1, steps));
  if (twoRows)
    multiply2x2(t, other);
  else
    multiply1x2(t, other);
  other.complete();
  const bool whole = t.cols == kPanel && t.rows % kSide == 0;
  if (t.numJoins > 0 || t.narrow || !whole)
    return takeOff(t, pipeline);
  pipeline.tile.rows = 0;
  storeTiles(static_cast<float *>(t.to.data), t.to.ld, twoRows);
}

constexpr KernelSet makeAmxKernels() {
  KernelSet set{};
  set.rows = set.cols = set.lanes = kPanel;
  set.kPerStep = 2;
  set.kMultiple = 2 * kPairsPerStep;
  set.operandBytes = 2;
  set.accBytes = 4;
  set.operandType = WEFT_RT_BF16;
  set.directRows = kSide;
  set.begin = beginTiles;
  set.end = endTiles;
  set.narrows = true;
  set.tile = tileAmx;
  set.drain = drainAmx;
  set.packLanes = packLanesBf16<2 * kPairsPerStep>;
  set.packRows = packRowsBf16<2 * kPairsPerStep>;
  set.flush = flushF32;
  return set;
}

} // namespace

const KernelSet kAmxBf16 = makeAmxKernels();

} // namespace weft::rt::detail
