// SPDX-License-Identifier: Apache-2.0

// AMX kernels for bf16: 2 x 2 tile registers of 16 x 16 sums; A comes as rows
// of 32 k, B as 16 rows of pairs.

#include "kernel_template.h"
#include "pack_bf16.h"

#include <immintrin.h>

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

/// Sums of 32 x 32 in tile registers 0 to 3.
void multiply2x2(const TileArgs &t) {
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
    a += kPairsPerStep * t.aStep;
    b += kPairsPerStep * t.bStep;
  }
}

/// Sums of 16 x 32 in tile registers 0 and 1.
void multiply1x2(const TileArgs &t) {
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

struct Sums16 {
  using Acc = float;
  using V = __m512;
  static constexpr int kWidth = kSide;

  static __mmask16 firstLanes(int count) {
    return __mmask16((1u << count) - 1);
  }
  static V load(const float *from) { return _mm512_loadu_ps(from); }
  static V loadPartial(const float *from, int count) {
    return _mm512_maskz_loadu_ps(firstLanes(count), from);
  }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static void store(float *to, V value) { _mm512_storeu_ps(to, value); }
  static void storePartial(float *to, V value, int count) {
    _mm512_mask_storeu_ps(to, firstLanes(count), value);
  }
};

/// Adds the joins to rows of stored sums, as many as fit in registers.
template <int Rows, int Vecs>
inline int finishStored(const TileArgs &t, const float *sums, int row) {
  for (; row + Rows <= t.rows; row += Rows) {
    __m512 acc[Rows][Vecs];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      for (int v = 0; v < Vecs; ++v)
        acc[r][v] = _mm512_load_ps(sums + (row + r) * kPanel + v * kSide);
    finishTile<Sums16, Rows, Vecs>(t, acc, row);
  }
  return row;
}

template <int Vecs> void finishStored(const TileArgs &t, const float *sums) {
  int row = finishStored<8, Vecs>(t, sums, 0);
  finishStored<1, Vecs>(t, sums, row);
}

void tileAmx(const TileArgs &t) {
  const bool twoRows = t.rows > kSide;
  if (twoRows)
    multiply2x2(t);
  else
    multiply1x2(t);
  if (t.numJoins == 0 && t.cols == kPanel && t.rows % kSide == 0)
    return storeTiles(static_cast<float *>(t.to.data), t.to.ld, twoRows);
  alignas(64) float sums[kPanel * kPanel];
  storeTiles(sums, kPanel, twoRows);
  if (t.cols > kSide)
    finishStored<2>(t, sums);
  else
    finishStored<1>(t, sums);
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
  set.tile = tileAmx;
  set.packLanes = packLanesBf16<2 * kPairsPerStep>;
  set.packRows = packRowsBf16<2 * kPairsPerStep>;
  set.flush = flushF32;
  set.fold = foldF32;
  return set;
}

} // namespace

const KernelSet kAmxBf16 = makeAmxKernels();

} // namespace weft::rt::detail
