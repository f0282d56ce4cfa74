// SPDX-License-Identifier: Apache-2.0

// Rounds sums: finished ones on their way to C, and those of a tree whose nodes
// are rounded. Plain loops: the compiler makes
// vectors of them with the flags of the file that includes this. Internal
// linkage, as there are several.

#ifndef WEFT_RT_GEMM_FLUSH_H
#define WEFT_RT_GEMM_FLUSH_H

#include "convert.h"
#include "kernels.h"

namespace weft::rt::detail {
namespace {

template <class In, class Out>
inline void flushUnitRow(const In *__restrict sums, Out *__restrict out,
                         int64_t columns, bool add) {
  if (add)
    for (int64_t j = 0; j < columns; ++j)
      narrow(widen(out[j]) + widen(sums[j]), out[j]);
  else
    for (int64_t j = 0; j < columns; ++j)
      narrow(widen(sums[j]), out[j]);
}

template <class In, class Out> void flushAs(const FlushArgs &f) {
  const In *sums = static_cast<const In *>(f.sums);
  for (int64_t r = 0; r < f.rows; ++r, sums += f.ld) {
    Out *row = static_cast<Out *>(f.c) + f.row[r];
    if (f.unitColumns) {
      flushUnitRow(sums, row + f.column[0], f.columns, f.add);
      continue;
    }
    for (int64_t j = 0; j < f.columns; ++j) {
      Out &out = row[f.column[j]];
      narrow(f.add ? widen(out) + widen(sums[j]) : widen(sums[j]), out);
    }
  }
}

template <class Out> inline float roundTo(float value) {
  Out out;
  narrow(value, out);
  return widen(out);
}

template <class Out> void foldRow(float *__restrict sums, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    sums[j] = roundTo<Out>(sums[j]);
}

template <class Out> void foldAs(const FoldArgs &f) {
  float *sums = static_cast<float *>(f.sums.data);
  for (int64_t r = 0; r < f.rows; ++r, sums += f.sums.ld) {
    foldRow<Out>(sums, f.columns);
    for (int i = 0; i < f.numJoins; ++i) {
      const Sums &join = f.joins[i];
      const float *__restrict other =
          static_cast<const float *>(join.data) + r * join.ld;
      for (int64_t j = 0; j < f.columns; ++j)
        sums[j] += other[j];
      foldRow<Out>(sums, f.columns);
    }
    memcpy(static_cast<float *>(f.to.data) + r * f.to.ld, sums,
           size_t(f.columns) * sizeof(float));
  }
}

inline void foldF32(const FoldArgs &f) {
  if (f.type == WEFT_RT_BF16)
    foldAs<Bf16>(f);
  else
    foldAs<F16>(f);
}

inline void flushF32(const FlushArgs &f) {
  if (f.narrowSums)
    return flushAs<Bf16, Bf16>(f);
  switch (f.type) {
  case WEFT_RT_BF16:
    return flushAs<float, Bf16>(f);
  case WEFT_RT_F16:
    return flushAs<float, F16>(f);
  default:
    return flushAs<float, float>(f);
  }
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_FLUSH_H
