// SPDX-License-Identifier: Apache-2.0

// AMX kernels for bf16: 2 x 2 tile registers of 16 x 16 sums; A comes as rows
// of 32 k, B as 16 rows of pairs.

#include "convert.h"
#include "flush.h"
#include "kernels.h"
#include "pack_bf16.h"

#include <immintrin.h>

#include <algorithm>

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

/// To bf16, as everywhere else.
inline __m256i roundExactly(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  const __mmask16 isNan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_mask_or_epi32(rounded, isNan, high, _mm512_set1_epi32(0x40)));
}

// Rows of bf16 are rounded by vcvtne2ps2bf16, which takes subnormal numbers for
// zero. Tile registers hold none, but numbers of a tree may cancel to one.
// They do not if all leaves are zero or at least 2^-119: such numbers of bf16
// are multiples of 2^-126, the least normal number, and so are sums of them.
// From the first leaf on that is neither, TileInFlight::exact is set, and rows
// are rounded by arithmetic on integers.
constexpr int kSafeExponent = 8; // of 2^-119, biased

/// To bf16; `low` becomes the lower half.
template <bool Exact> inline __m512i round(__m512 low, __m512 high) {
  if constexpr (Exact)
    return _mm512_inserti64x4(_mm512_castsi256_si512(roundExactly(low)),
                              roundExactly(high), 1);
  else
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

inline bool hasSubnormal(__m512 low, __m512 high) {
  constexpr int subnormal = 0x20;
  return _mm512_fpclass_ps_mask(low, subnormal) |
         _mm512_fpclass_ps_mask(high, subnormal);
}

/// Columns below 2^-119.
inline __mmask32 smallOnes(__m512i row) {
  constexpr int exponents = 0x7f80 & -(kSafeExponent << 7);
  return _mm512_testn_epi16_mask(row, _mm512_set1_epi16(exponents));
}

inline __mmask32 nonzeroOnes(__m512i row) {
  return _mm512_test_epi16_mask(row, _mm512_set1_epi16(0x7fff));
}

/// Columns of a row of bf16: even ones, widened, and odd ones.
inline __m512 evenOf(__m512i row) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(row, 16));
}
inline __m512 oddOf(__m512i row) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(row, _mm512_set1_epi32(int(0xffff0000))));
}

/// The row whose columns are those of the lower and of the upper half in turn.
inline __m512i interleaved(__m512i halves) {
  const __m512i columns = _mm512_set_epi16(
      31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
      6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(columns, halves);
}

template <bool Exact> inline __m512i joinRounded(__m512i a, __m512i b) {
  return interleaved(round<Exact>(_mm512_add_ps(evenOf(a), evenOf(b)),
                                  _mm512_add_ps(oddOf(a), oddOf(b))));
}

/// Loads and stores rows of the tile in flight. Only C ends where the tile
/// does.
struct Columns {
  explicit Columns(int count)
      : all(firstOf32(count)), low(__mmask16(all)),
        high(__mmask16(all >> kSide)) {}

  __m512 loadLow(const float *row) const {
    return _mm512_maskz_loadu_ps(low, row);
  }
  __m512 loadHigh(const float *row) const {
    return _mm512_maskz_loadu_ps(high, row + kSide);
  }
  __m512i load(const Bf16 *row) const {
    return _mm512_maskz_loadu_epi16(all, row);
  }
  void store(float *row, __m512 lowSums, __m512 highSums) const {
    _mm512_mask_storeu_ps(row, low, lowSums);
    _mm512_mask_storeu_ps(row + kSide, high, highSums);
  }
  void store(Bf16 *row, __m512i sums) const {
    _mm512_mask_storeu_epi16(row, all, sums);
  }

  const __mmask32 all;
  const __mmask16 low, high;
};

/// Rows from `row` on.
template <class Element> inline Element *from(const Sums &sums, int64_t row) {
  return static_cast<Element *>(sums.data) + row * sums.ld;
}

/// The products' sums, with joins in f32.
template <int Rows> struct WideRows {
  __m512 low[Rows], high[Rows];

  void load(const TileInFlight &t, int64_t row, Columns columns) {
    const float *sums = static_cast<const float *>(t.sums) + row * kPanel;
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r, sums += kPanel) {
      low[r] = _mm512_load_ps(sums);
      high[r] = _mm512_load_ps(sums + kSide);
    }
    for (int i = 0; i < t.wideJoins; ++i) {
      const int64_t ld = t.joins[i].ld;
      const float *join = from<const float>(t.joins[i], row);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r, join += ld) {
        low[r] = _mm512_add_ps(low[r], columns.loadLow(join));
        high[r] = _mm512_add_ps(high[r], columns.loadHigh(join));
      }
    }
  }
  void store(const TileInFlight &t, int64_t row, Columns columns) const {
    const int64_t ld = t.to.ld;
    float *to = from<float>(t.to, row);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r, to += ld)
      columns.store(to, low[r], high[r]);
  }
};

/// Rounds rows and joins them with others of bf16.
template <bool Exact, int Rows>
inline void finishNarrow(const TileInFlight &t, int64_t row, Columns columns,
                         const WideRows<Rows> &wide) {
  __m512i sum[Rows];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
    sum[r] = round<Exact>(wide.low[r], wide.high[r]);
  for (int i = t.wideJoins; i < t.numJoins; ++i) {
    const int64_t ld = t.joins[i].ld;
    const Bf16 *join = from<const Bf16>(t.joins[i], row);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r, join += ld)
      sum[r] = joinRounded<Exact>(columns.load(join), sum[r]);
  }
  const int64_t ld = t.to.ld;
  Bf16 *to = from<Bf16>(t.to, row);
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r, to += ld)
    columns.store(to, sum[r]);
}

/// Whether the fast way to round would lose something, here or in a join to
/// come.
template <int Rows>
inline bool needsExact(const TileInFlight &t, const WideRows<Rows> &wide) {
  __mmask32 small = 0;
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
    small |= smallOnes(round<false>(wide.low[r], wide.high[r]));
  if (__builtin_expect(small == 0, 1))
    return false;
  bool needs = false;
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    __m512i row = round<false>(wide.low[r], wide.high[r]);
    needs |= (smallOnes(row) & nonzeroOnes(row)) != 0;
    needs |= t.wideJoins > 0 && hasSubnormal(wide.low[r], wide.high[r]);
  }
  return needs;
}

template <int Rows>
[[gnu::noinline]] void finishExactly(const TileInFlight &t, int64_t row,
                                     Columns columns) {
  WideRows<Rows> wide;
  wide.load(t, row, columns);
  finishNarrow<true>(t, row, columns, wide);
}

template <int Rows> void finishRows(TileInFlight &t, int64_t row) {
  const Columns columns(t.cols);
  if (__builtin_expect(t.narrow && t.exact, 0))
    return finishExactly<Rows>(t, row, columns);
  WideRows<Rows> wide;
  wide.load(t, row, columns);
  if (!t.narrow)
    return wide.store(t, row, columns);
  if (__builtin_expect(needsExact(t, wide), 0)) {
    t.exact = true;
    return finishExactly<Rows>(t, row, columns);
  }
  finishNarrow<false>(t, row, columns, wide);
}

/// Finishes a tile piece by piece: tile registers and vectors work at the same
/// time only if their instructions alternate.
class Finisher {
public:
  Finisher(TileInFlight &tile, int64_t pieces)
      : tile(tile), rows(tile.complete ? 0 : tile.rows),
        piece(int((rows + pieces * kRows - 1) / (pieces * kRows) * kRows)) {}

  void advance() {
    for (const int end = done + piece; done + kRows <= rows && done < end;
         done += kRows)
      finishRows<kRows>(tile, done);
  }
  void complete() {
    while (done + kRows <= rows)
      advance();
    for (; done < rows; ++done)
      finishRows<1>(tile, done);
  }

private:
  static constexpr int kRows = 4; // at once: their instructions overlap

  TileInFlight &tile;
  const int rows, piece;
  int done = 0;
};

// ---- products ---------------------------------------------------------------

/// Where the tile in flight leaves registers 0 to 3, if it has that many rows.
struct Registers {
  explicit Registers(const TileInFlight &t)
      : upper(t.rows > 0), lower(t.rows > kSide),
        to(static_cast<float *>(t.complete ? t.to.data : t.sums)),
        ld(t.complete ? t.to.ld : kPanel), bytes(ld * int64_t(sizeof(float))) {}

  bool upper, lower;
  float *to;
  int64_t ld, bytes;
};

/// The first step's products, which take the registers over. Each is stored
/// just before it is needed, so that the others' products go on meanwhile.
template <bool TwoRows>
inline void startProducts(const TileArgs &t, const Registers &old,
                          const char *a, const char *b) {
  _tile_stream_loadd(6, b, t.bStep);
  _tile_loadd(4, a, t.aRow);
  _tile_stream_loadd(7, b + kRowBytes, t.bStep);
  if (TwoRows)
    _tile_loadd(5, a + kSide * t.aRow, t.aRow);
  if (old.upper)
    _tile_stored(0, old.to, old.bytes);
  _tile_zero(0);
  _tile_dpbf16ps(0, 4, 6);
  if (old.upper)
    _tile_stored(1, old.to + kSide, old.bytes);
  _tile_zero(1);
  _tile_dpbf16ps(1, 4, 7);
  if (old.lower)
    _tile_stored(2, old.to + kSide * old.ld, old.bytes);
  if (TwoRows) {
    _tile_zero(2);
    _tile_dpbf16ps(2, 5, 6);
  }
  if (old.lower)
    _tile_stored(3, old.to + kSide * old.ld + kSide, old.bytes);
  if (TwoRows) {
    _tile_zero(3);
    _tile_dpbf16ps(3, 5, 7);
  }
}

/// B's loads are not to drive A, which all panels read, out of the first-level
/// cache.
template <bool TwoRows>
inline void addProducts(const TileArgs &t, const char *a, const char *b) {
  _tile_stream_loadd(6, b, t.bStep);
  _tile_loadd(4, a, t.aRow);
  _tile_dpbf16ps(0, 4, 6);
  _tile_stream_loadd(7, b + kRowBytes, t.bStep);
  _tile_dpbf16ps(1, 4, 7);
  if (!TwoRows)
    return;
  _tile_loadd(5, a + kSide * t.aRow, t.aRow);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/// Products of a tile of at least one step.
template <bool TwoRows> void multiply(const TileArgs &t, TileInFlight &old) {
  Finisher finisher(old, std::max<int64_t>(1, t.steps / kPairsPerStep - 1));
  const char *a = static_cast<const char *>(t.a);
  const char *b = static_cast<const char *>(t.b);
  startProducts<TwoRows>(t, Registers(old), a, b);
  for (int64_t k = kPairsPerStep; k < t.steps; k += kPairsPerStep) {
    a += kPairsPerStep * t.aStep;
    b += kPairsPerStep * t.bStep;
    addProducts<TwoRows>(t, a, b);
    finisher.advance();
  }
  finisher.complete();
}

void drainAmx(TileInFlight &tile) {
  const Registers old(tile);
  if (old.upper) {
    _tile_stored(0, old.to, old.bytes);
    _tile_stored(1, old.to + kSide, old.bytes);
  }
  if (old.lower) {
    _tile_stored(2, old.to + kSide * old.ld, old.bytes);
    _tile_stored(3, old.to + kSide * old.ld + kSide, old.bytes);
  }
  Finisher(tile, 1).complete();
  tile.rows = 0;
}

void multiplyNothing(TileInFlight &old) {
  drainAmx(old);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

void tileAmx(const TileArgs &t, TileInFlight &tile) {
  if (t.steps == 0)
    multiplyNothing(tile);
  else if (t.rows > kSide)
    multiply<true>(t, tile);
  else
    multiply<false>(t, tile);
  tile.rows = t.rows;
  tile.cols = t.cols;
  tile.complete =
      !t.narrow && t.numJoins == 0 && t.cols == kPanel && t.rows % kSide == 0;
  tile.narrow = t.narrow;
  tile.wideJoins = t.wideJoins;
  tile.numJoins = t.numJoins;
  tile.to = t.to;
  std::copy_n(t.joins, t.numJoins, tile.joins);
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
  set.tilesPerBlock = 4;
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
