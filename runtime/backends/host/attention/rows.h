// SPDX-License-Identifier: Apache-2.0

// What an instruction set provides beside gemm: work on single rows, of scores
// or of tensors. Rows of scores lie at multiples of 64 bytes and have room for
// whole groups of kLanes.

#ifndef WEFT_RT_ATTENTION_ROWS_H
#define WEFT_RT_ATTENTION_ROWS_H

#include "weft-rt/abi.h"

#include <cstdint>

namespace weft::rt::detail {

constexpr int64_t kLanes = 16;

inline int64_t wholeLanes(int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

/// Columns of a row of scores: those that products read, and of them those
/// whose keys are seen. All others of [begin, end) get zeros.
struct RowRange {
  int64_t begin, end;
  int64_t first, last;
};

/// A row of products of queries and keys on its way to scores. Pointers are to
/// the element of column 0; null: there is no such step.
struct ScoreArgs {
  float *scores;
  int64_t first, last;
  float scale, softcap, fill;
  const void *bias;
  weft_rt_type typeBias;
  int64_t strideBias;
  const uint8_t *mask;
  int64_t strideMask;
  const int32_t *segments; // of keys; others than `segment` are not seen
  int64_t strideSegments;
  int32_t segment;
  float *gains; // what dS is multiplied by; null: not wanted
};

/// What the weights of a query's keys are multiplied by where some are dropped:
/// 0 or `gain`. Columns of [first, last) up to whole groups of kLanes get 0.
struct RetainArgs {
  float *retained;  // of column 0
  int64_t firstKey; // that of column 0
  int64_t first, last;
  uint32_t lowSeed, highSeed;
  uint32_t limit; // keys with lower bits are dropped
  float gain;
};

/// A row of scores that becomes P.
struct SoftmaxArgs {
  float *scores; // overwritten with P, if there is no `narrow`
  uint16_t *narrow;
  const float *retained; // P is multiplied by, beside `sum`; null: nothing
  RowRange range;
  float scale;    // the scores are still to be multiplied by
  float max, sum; // so far, and after it
  float correction;
};

/// Rows of scores and of dP that become P and dS.
struct GradientArgs {
  float *scores, *products; // overwritten with P and dS, if not narrow
  uint16_t *narrowP, *narrowDs;
  RowRange range;
  float scale;
  const float *gains; // null: `gain` throughout
  float gain;
  float lse, delta;
  float weight;          // P is multiplied by
  const float *retained; // then dP is multiplied by, and the P that is stored
};

struct RowKernels {
  void (*score)(const ScoreArgs &);
  void (*retain)(const RetainArgs &);
  void (*softmax)(SoftmaxArgs &);
  void (*gradient)(const GradientArgs &);
  /// row[i] *= factor; `count` is a multiple of kLanes, as below.
  void (*scale)(float *row, int64_t count, float factor);
  /// row[i] = row[i] / divisor + 0
  void (*divide)(float *row, int64_t count, float divisor);
  /// to[i] += from[i]
  void (*add)(float *to, const float *from, int64_t count);
  float (*dot)(const float *a, const float *b, int64_t count);
  /// Widens a row of a tensor, and pads it with zeros to whole lanes.
  void (*load)(weft_rt_type type, const void *from, int64_t stride,
               int64_t count, float *to);
  /// Rounds a row to a tensor's type.
  void (*store)(weft_rt_type type, const float *from, int64_t count, void *to,
                int64_t stride);
};

extern const RowKernels kScalarRows;
#ifdef WEFT_ATTENTION_X86
extern const RowKernels kAvx2Rows, kAvx512Rows;
#endif

/// The kernels of the ISA that gemm uses.
const RowKernels &activeRows();

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_ROWS_H
