// SPDX-License-Identifier: Apache-2.0

// The sums of an AMX tile, bit for bit, on machines without AMX: a step of 32 k
// sums its even and its odd products in chains of their own, and subnormal
// numbers are zero, as operands and as results. bf16 operands are packed as
// f32, and K is padded with zeros to whole steps.

#ifndef WEFT_RT_GEMM_AMX_CHAIN_H
#define WEFT_RT_GEMM_AMX_CHAIN_H

#include "kernel_template.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace weft::rt::detail {
namespace {

constexpr int kAmxStep = 32; // elements of K

#ifdef __SSE2__
/// While it lives, vector arithmetic takes subnormal numbers for zero.
class SubnormalsAsZero {
public:
  SubnormalsAsZero() : saved(_mm_getcsr()) {
    _mm_setcsr(saved | flushToZero | denormalsAreZero);
  }
  ~SubnormalsAsZero() { _mm_setcsr(saved); }

private:
  static constexpr unsigned flushToZero = 0x8000, denormalsAreZero = 0x40;
  unsigned saved;
};
#endif

/// Adds a step's sums to `block`, Rows x Vecs vectors. Never inlined: the
/// compiler does not know that arithmetic depends on the mode, but keeps calls
/// where they are.
template <class T, int Rows, int Vecs>
[[gnu::noinline]] void addAmxSteps(const TileArgs &t, typename T::Acc *block) {
  using V = typename T::V;
  using Acc = typename T::Acc;
  const char *a = static_cast<const char *>(t.a);
  const char *b = static_cast<const char *>(t.b);
  const int64_t aRow = t.aRow, aStep = t.aStep, bStep = t.bStep;
  for (int64_t step = 0; step < t.steps; step += kAmxStep) {
    V sum[2][Rows][Vecs]; // even, odd
    for (auto &half : sum)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vecs; ++v)
          half[r][v] = T::zero();
    for (int pair = 0; pair < kAmxStep / 2; ++pair)
#pragma GCC unroll 2
      for (int parity = 0; parity < 2; ++parity, a += aStep, b += bStep) {
        V bv[Vecs];
        for (int v = 0; v < Vecs; ++v)
          bv[v] = T::load(reinterpret_cast<const Acc *>(b) + v * T::kWidth);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          V av = T::broadcast(reinterpret_cast<const Acc *>(a + r * aRow));
          for (int v = 0; v < Vecs; ++v)
            sum[parity][r][v] = T::fma(av, bv[v], sum[parity][r][v]);
        }
      }
    Acc *to = block;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      for (int v = 0; v < Vecs; ++v, to += T::kWidth)
        T::store(to, T::add(T::load(to), T::add(sum[0][r][v], sum[1][r][v])));
  }
}

/// Chain computes as AMX does while Chain::Mode lives; T joins, in the usual
/// mode.
template <class Chain, class T, int Rows, int Vecs>
void computeAmxTile(const TileArgs &t) {
  alignas(64) typename T::Acc block[Rows * Vecs * T::kWidth] = {};
  {
    [[maybe_unused]] typename Chain::Mode mode;
    addAmxSteps<Chain, Rows, Vecs>(t, block);
  }
  typename T::V acc[Rows][Vecs];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vecs; ++v)
      acc[r][v] = T::load(block + (r * Vecs + v) * T::kWidth);
  finishTile<T, Rows, Vecs>(t, acc);
}

template <class Chain, class T, int Vecs, int... Row>
inline TileFunction amxTileForRows(int rows,
                                   std::integer_sequence<int, Row...>) {
  static constexpr TileFunction table[] = {
      computeAmxTile<Chain, T, Row + 1, Vecs>...};
  return table[rows - 1];
}

template <class Chain, class T>
void amxTile(const TileArgs &t, TileInFlight &) {
  constexpr auto rows = std::make_integer_sequence<int, Chain::kChainRows>();
  if (t.cols > T::kWidth)
    amxTileForRows<Chain, T, 2>(t.rows, rows)(t);
  else
    amxTileForRows<Chain, T, 1>(t.rows, rows)(t);
}

template <class T> void packLanesInSteps(const PackArgs &p) {
  packLanesOf<T, Bf16>(p);
  const int64_t padded = (p.k + kAmxStep - 1) / kAmxStep * kAmxStep;
  for (int64_t k = p.k; k < padded; ++k)
    memset(static_cast<char *>(p.dst) + k * p.dstStride, 0,
           size_t(p.paddedLanes) * sizeof(float));
}

template <class T> void packRowsInSteps(const PackArgs &p) {
  packRowsOf<T, Bf16>(p);
  const int64_t padded = (p.k + kAmxStep - 1) / kAmxStep * kAmxStep;
  for (int lane = 0; lane < p.lanes; ++lane) {
    float *row = reinterpret_cast<float *>(static_cast<char *>(p.dst) +
                                           lane * p.dstStride);
    memset(row + p.k, 0, size_t(padded - p.k) * sizeof(float));
  }
}

/// Chain adds to T: kChainRows, Mode, and if there is no mode its own fma and
/// add.
template <class Chain, class T> constexpr KernelSet makeAmxChainKernels() {
  KernelSet set = makeF32Kernels<T>();
  set.rows = Chain::kChainRows;
  set.kMultiple = kAmxStep;
  set.directB = false;
  set.tile = amxTile<Chain, T>;
  set.packLanes = packLanesInSteps<T>;
  set.packRows = packRowsInSteps<T>;
  return set;
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_AMX_CHAIN_H
