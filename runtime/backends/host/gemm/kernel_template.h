// SPDX-License-Identifier: Apache-2.0

// Microkernel and packers over a vector type, instantiated once per instruction
// set. The traits class says what a vector is; it must live in an anonymous
// namespace, so that no instantiation is shared between files that are compiled
// with different flags.
//
// Traits: Acc (float or double), V, kWidth (lanes), kRows (most rows of a tile,
// each with kVecs accumulators), zero, load (from Acc, Bf16, F16), loadPartial,
// broadcast, fma, add, store, storePartial, transpose (of kWidth vectors),
// kKnowsSteps (there is code for the strides of packed operands).

#ifndef WEFT_RT_GEMM_KERNEL_TEMPLATE_H
#define WEFT_RT_GEMM_KERNEL_TEMPLATE_H

#include "convert.h"
#include "flush.h"
#include "kernels.h"

#include <utility>

namespace weft::rt::detail {
namespace {

/// Adds the joins to the accumulators of rows from `row` on and stores them.
/// `last` is the number of columns in the last vector of a row; Whole: all.
template <class T, int Rows, int Vecs, bool Whole>
inline void finishRows(const TileArgs &t, typename T::V (&acc)[Rows][Vecs],
                       int64_t row, int last) {
  using Acc = typename T::Acc;
  for (int i = 0; i < t.numJoins; ++i) {
    const int64_t ld = t.joins[i].ld;
    const Acc *from = static_cast<const Acc *>(t.joins[i].data) + row * ld;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r, from += ld)
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) {
        const Acc *at = from + v * T::kWidth;
        typename T::V other =
            Whole || v + 1 < Vecs ? T::load(at) : T::loadPartial(at, last);
        acc[r][v] = T::add(other, acc[r][v]);
      }
  }
  const int64_t ld = t.to.ld;
  Acc *to = static_cast<Acc *>(t.to.data) + row * ld;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r, to += ld)
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v)
      if (Whole || v + 1 < Vecs)
        T::store(to + v * T::kWidth, acc[r][v]);
      else
        T::storePartial(to + v * T::kWidth, acc[r][v], last);
}

template <class T, int Rows, int Vecs>
inline void finishTile(const TileArgs &t, typename T::V (&acc)[Rows][Vecs],
                       int64_t row = 0) {
  const int last = t.cols - (Vecs - 1) * T::kWidth;
  if (last == T::kWidth)
    finishRows<T, Rows, Vecs, true>(t, acc, row, last);
  else
    finishRows<T, Rows, Vecs, false>(t, acc, row, last);
}

/// How far B is fetched ahead: its panel does not stay in the first-level
/// cache.
constexpr int64_t kPrefetchSteps = 6;
constexpr int64_t kLineBytes = 64;

/// Rows that share a pointer: more would need an offset register each.
constexpr int kRowGroup = 5;
constexpr int kMostPointers = 5;

/// Adds t.steps steps. Strides that are known, not 0, let several steps share
/// the arithmetic of addresses, which costs where another thread of the core
/// wants its instructions decoded too. Known are those of packed operands, of
/// which the processor fetches B ahead by itself.
/// Rows are addressed by up to five pointers plus small multiples of aRow:
/// with a pointer per row, or with one pointer for all, GCC runs out of
/// registers and reloads addresses in the loop.
template <class T, int64_t StepA, int64_t StepB, int Rows, int Vecs>
inline void addSteps(const TileArgs &t, typename T::V (&acc)[Rows][Vecs]) {
  using V = typename T::V;
  using Acc = typename T::Acc;
  // Of three rows with a pointer none needs an offset of its own.
  constexpr int ofPointer = StepA ? 3 : kRowGroup;
  constexpr int groups = (Rows + ofPointer - 1) / ofPointer;
  static_assert(groups <= kMostPointers, "a pointer per group");
  const int64_t aRow = t.aRow, aStep = StepA ? StepA : t.aStep,
                bStep = StepB ? StepB : t.bStep;
  const char *a[kMostPointers];
#pragma GCC unroll 5
  for (int g = 0; g < groups; ++g) {
    a[g] = static_cast<const char *>(t.a) + g * ofPointer * aRow;
    asm("" : "+r"(a[g])); // hides that the pointers are related
  }
  const char *b = static_cast<const char *>(t.b);
  auto addStep = [&](int64_t ofA,
                     const char *ofB) __attribute__((always_inline)) {
    V bv[Vecs];
    for (int v = 0; v < Vecs; ++v)
      bv[v] = T::load(reinterpret_cast<const Acc *>(ofB) + v * T::kWidth);
    if (!StepB)
      for (int64_t i = 0; i < Vecs * int64_t(sizeof(V)); i += kLineBytes)
        __builtin_prefetch(ofB + kPrefetchSteps * bStep + i);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      V av = T::broadcast(reinterpret_cast<const Acc *>(
          a[r / ofPointer] + r % ofPointer * aRow + ofA));
      for (int v = 0; v < Vecs; ++v)
        acc[r][v] = T::fma(av, bv[v], acc[r][v]);
    }
  };
  int64_t left = t.steps;
  constexpr int atOnce = StepA ? 4 : 1;
  for (; left >= atOnce; left -= atOnce) {
#pragma GCC unroll 4
    for (int i = 0; i < atOnce; ++i)
      addStep(i * aStep, b + i * bStep);
#pragma GCC unroll 5
    for (int g = 0; g < groups; ++g) {
      a[g] += atOnce * aStep;
      if (StepA)
        asm("" : "+r"(a[g]));
    }
    b += atOnce * bStep;
  }
  if (atOnce == 1)
    return;
#pragma GCC unroll 1
  for (; left > 0; --left, b += bStep) {
    addStep(0, b);
#pragma GCC unroll 5
    for (int g = 0; g < groups; ++g)
      a[g] += aStep;
  }
}

/// Fetches the memory that the tile is stored to, and mostly joins with, so
/// that it is there when the products are summed.
template <class T, int Rows, int Vecs>
inline void fetchSums(const TileArgs &t) {
  const int64_t rowBytes = t.to.ld * int64_t(sizeof(typename T::Acc));
  const char *to = static_cast<const char *>(t.to.data);
  for (int r = 0; r < Rows; ++r, to += rowBytes)
    for (int64_t i = 0; i < Vecs * int64_t(sizeof(typename T::V));
         i += kLineBytes)
      __builtin_prefetch(to + i, 1);
}

/// Rows x Vecs accumulators stay in registers.
template <class T, int Rows, int Vecs> void computeTile(const TileArgs &t) {
  typename T::V acc[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vecs; ++v)
      acc[r][v] = T::zero();
  fetchSums<T, Rows, Vecs>(t);
  if constexpr (T::kKnowsSteps) {
    using Acc = typename T::Acc;
    constexpr int64_t packedB = T::kVecs * T::kWidth * sizeof(Acc);
    constexpr int64_t lanesA = (T::kRows + T::kWidth - 1) / T::kWidth *
                               T::kWidth * int64_t(sizeof(Acc));
    if (t.bStep == packedB && t.aStep == sizeof(Acc))
      addSteps<T, sizeof(Acc), packedB>(t, acc);
    else if (t.bStep == packedB && t.aStep == lanesA)
      addSteps<T, lanesA, packedB>(t, acc);
    else
      addSteps<T, 0, 0>(t, acc);
  } else {
    addSteps<T, 0, 0>(t, acc);
  }
  finishTile<T, Rows, Vecs>(t, acc);
}

using TileFunction = void (*)(const TileArgs &);

template <class T, int Vecs, int... Row>
inline TileFunction tileForRows(int rows, std::integer_sequence<int, Row...>) {
  static constexpr TileFunction table[] = {computeTile<T, Row + 1, Vecs>...};
  return table[rows - 1];
}

template <class T> void tile(const TileArgs &t, TileInFlight &) {
  constexpr auto rows = std::make_integer_sequence<int, T::kRows>();
  static_assert(T::kVecs == 2, "one and two vectors are covered below");
  if (t.cols > T::kWidth)
    tileForRows<T, 2>(t.rows, rows)(t);
  else
    tileForRows<T, 1>(t.rows, rows)(t);
}

/// Lanes [0, lanes) of one vector, lane i at src + offset[i].
template <class T, class In>
inline typename T::V gatherLanes(const In *src, const int64_t *offset,
                                 int lanes) {
  alignas(64) typename T::Acc values[T::kWidth] = {};
  for (int i = 0; i < lanes; ++i)
    values[i] = widen(src[offset[i]]);
  return T::load(values);
}

/// A group of up to kWidth lanes that are neighbours in memory.
template <class T, class In>
void packUnitLanes(const PackArgs &p, const In *src, int lanes, char *dst) {
  using Acc = typename T::Acc;
  for (int64_t k = 0; k < p.k; ++k, dst += p.dstStride) {
    const In *from = src + p.kOffset[k];
    T::store(reinterpret_cast<Acc *>(dst),
             lanes == T::kWidth ? T::load(from) : T::loadPartial(from, lanes));
  }
}

/// Transposes squares of kWidth in registers, as many as fit in K; returns the
/// elements of K that this covers.
template <class T, bool AllLanes, class In>
inline int64_t packSquares(const PackArgs &p, const In *src,
                           const int64_t *laneOffset, int lanes, char *dst) {
  int64_t k = 0;
  for (; k + T::kWidth <= p.k; k += T::kWidth) {
    typename T::V square[T::kWidth];
    for (int i = 0; i < T::kWidth; ++i)
      square[i] =
          AllLanes || i < lanes ? T::load(src + laneOffset[i] + k) : T::zero();
    T::transpose(square);
    for (int i = 0; i < T::kWidth; ++i, dst += p.dstStride)
      T::store(reinterpret_cast<typename T::Acc *>(dst), square[i]);
  }
  return k;
}

/// A group of lanes whose elements are neighbours along K.
template <class T, class In>
void packUnitK(const PackArgs &p, const In *src, const int64_t *laneOffset,
               int lanes, char *dst) {
  src += p.kOffset[0];
  int64_t k = lanes == T::kWidth
                  ? packSquares<T, true>(p, src, laneOffset, lanes, dst)
                  : packSquares<T, false>(p, src, laneOffset, lanes, dst);
  for (dst += k * p.dstStride; k < p.k; ++k, dst += p.dstStride)
    T::store(reinterpret_cast<typename T::Acc *>(dst),
             gatherLanes<T>(src + k, laneOffset, lanes));
}

template <class T, class In> void packLanesOf(const PackArgs &p) {
  using Acc = typename T::Acc;
  const In *src = static_cast<const In *>(p.src);
  for (int lane = 0; lane < p.paddedLanes; lane += T::kWidth) {
    const int64_t *offset = p.laneOffset + lane;
    int lanes = p.lanes - lane;
    lanes = lanes < 0 ? 0 : lanes > T::kWidth ? T::kWidth : lanes;
    char *dst = static_cast<char *>(p.dst) + lane * sizeof(Acc);
    if (p.unitLanes && lanes > 0)
      packUnitLanes<T>(p, src + offset[0], lanes, dst);
    else if (p.unitK && p.k > 0)
      packUnitK<T>(p, src, offset, lanes, dst);
    else
      for (int64_t k = 0; k < p.k; ++k, dst += p.dstStride)
        T::store(reinterpret_cast<Acc *>(dst),
                 gatherLanes<T>(src + p.kOffset[k], offset, lanes));
  }
}

template <class T, class In> void packRowsOf(const PackArgs &p) {
  using Acc = typename T::Acc;
  const In *src = static_cast<const In *>(p.src);
  for (int lane = 0; lane < p.lanes; ++lane) {
    const In *row = src + p.laneOffset[lane];
    Acc *dst = reinterpret_cast<Acc *>(static_cast<char *>(p.dst) +
                                       lane * p.dstStride);
    int64_t k = 0;
    if (p.unitK && p.k > 0)
      for (row += p.kOffset[0]; k + T::kWidth <= p.k; k += T::kWidth)
        T::store(dst + k, T::load(row + k));
    for (; k < p.k; ++k)
      dst[k] = widen(p.unitK ? row[k] : row[p.kOffset[k]]);
  }
}

template <class T> void packLanesF32(const PackArgs &p) {
  switch (p.type) {
  case WEFT_RT_BF16:
    return packLanesOf<T, Bf16>(p);
  case WEFT_RT_F16:
    return packLanesOf<T, F16>(p);
  default:
    return packLanesOf<T, float>(p);
  }
}

template <class T> void packRowsF32(const PackArgs &p) {
  switch (p.type) {
  case WEFT_RT_BF16:
    return packRowsOf<T, Bf16>(p);
  case WEFT_RT_F16:
    return packRowsOf<T, F16>(p);
  default:
    return packRowsOf<T, float>(p);
  }
}

/// Everything but the packers.
template <class T> constexpr KernelSet makeKernels(weft_rt_type type) {
  KernelSet set{};
  set.rows = T::kRows;
  set.cols = T::kWidth * T::kVecs;
  set.lanes = T::kWidth;
  set.kPerStep = set.kMultiple = set.directRows = 1;
  set.operandBytes = set.accBytes = sizeof(typename T::Acc);
  set.operandType = type;
  set.lanesA = set.directB = true;
  set.tilesPerBlock = 4;
  set.tile = tile<T>;
  return set;
}

template <class T> constexpr KernelSet makeF32Kernels() {
  KernelSet set = makeKernels<T>(WEFT_RT_F32);
  set.packLanes = packLanesF32<T>;
  set.packRows = packRowsF32<T>;
  set.flush = flushF32;
  set.fold = foldF32;
  return set;
}

template <class T> constexpr KernelSet makeF64Kernels() {
  KernelSet set = makeKernels<T>(WEFT_RT_F64);
  set.packLanes = packLanesOf<T, double>;
  set.packRows = packRowsOf<T, double>;
  set.flush = flushAs<double, double>;
  return set;
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_KERNEL_TEMPLATE_H
