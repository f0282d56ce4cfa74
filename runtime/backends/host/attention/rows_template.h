// SPDX-License-Identifier: Apache-2.0

// Row kernels over groups of kLanes floats, instantiated once per instruction
// set. All do the same operations in the same order, whatever a register holds.
// Everything has internal linkage, so that no instantiation is shared between
// files that are compiled with different flags.
//
// Traits: those of attention_formulas.h, with kLanes floats as V, and load,
// store, larger (x > y ? x : y), storeBf16.

#ifndef WEFT_RT_ATTENTION_ROWS_TEMPLATE_H
#define WEFT_RT_ATTENTION_ROWS_TEMPLATE_H

#include "contract/attention_formulas.h"
#include "convert.h"
#include "rows.h"

namespace weft::rt::detail {
namespace {

/// Lane i joins with lane i + 8, of these i with i + 4, and so on.
inline float sumOfLanes(float (&lanes)[kLanes]) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] = lanes[i] + lanes[i + half];
  return lanes[0];
}

inline float maxOfLanes(const float (&lanes)[kLanes]) {
  float max = lanes[0];
  for (float lane : lanes)
    max = lane > max ? lane : max;
  return max;
}

/// Makes the rest of the groups at both ends of the range unseen.
inline void padRange(float *row, int64_t begin, int64_t first, int64_t last,
                     int64_t end) {
  for (int64_t j = begin; j < first; ++j)
    row[j] = kNone;
  for (int64_t j = last; j < end; ++j)
    row[j] = kNone;
}

template <class Number>
inline void clearOutside(Number *row, const RowRange &range, int64_t begin,
                         int64_t end) {
  for (int64_t j = range.begin; j < begin; ++j)
    row[j] = 0;
  for (int64_t j = end; j < range.end; ++j)
    row[j] = 0;
}

/// Of kLanes keys, which a compiler maps to what registers there are.
typedef uint32_t LaneWords __attribute__((vector_size(4 * kLanes)));

/// The gain where the bits are not below the limit, else 0.
inline void retainWords(const RetainArgs &args, const LaneWords &words,
                        uint32_t *to) {
  uint32_t gain;
  __builtin_memcpy(&gain, &args.gain, sizeof(gain));
  const LaneWords retained = (LaneWords)(words >= args.limit) & gain;
  __builtin_memcpy(to, &retained, sizeof(retained));
}

/// The keys of one counter, from `block` on, as far as they are columns.
inline void retainBlock(const RetainArgs &args, int64_t block) {
  const LaneWords lanes = {0, 1, 2,  3,  4,  5,  6,  7,
                           8, 9, 10, 11, 12, 13, 14, 15};
  RandomWords<LaneWords> words = {lanes + uint32_t(block / 2), LaneWords{}};
  threefry(args.lowSeed, args.highSeed, words);
  alignas(64) uint32_t retained[kKeysAtOnce];
  retainWords(args, words.first, retained);
  retainWords(args, words.second, retained + kLanes);
  const int64_t origin = block - args.firstKey;
  const int64_t begin = origin > args.first ? origin : args.first;
  const int64_t whole = origin + kKeysAtOnce;
  const int64_t end = whole < args.last ? whole : args.last;
  if (end - begin == kKeysAtOnce)
    __builtin_memcpy(args.retained + begin, retained, sizeof(retained));
  else
    __builtin_memcpy(args.retained + begin, retained + (begin - origin),
                     size_t(end - begin) * sizeof(float));
}

inline void retainRow(const RetainArgs &args) {
  static_assert(kKeysAtOnce == 2 * kLanes);
  for (int64_t j = args.first / kLanes * kLanes; j < args.first; ++j)
    args.retained[j] = 0;
  for (int64_t j = args.last; j < wholeLanes(args.last); ++j)
    args.retained[j] = 0;
  const int64_t last = args.firstKey + args.last;
  for (int64_t block = (args.firstKey + args.first) / kKeysAtOnce * kKeysAtOnce;
       block < last; block += kKeysAtOnce)
    retainBlock(args, block);
}

template <class T> void softmaxRow(SoftmaxArgs &args) {
  using V = typename T::V;
  const RowRange &range = args.range;
  float *row = args.scores;
  const int64_t begin = range.first / kLanes * kLanes;
  const int64_t end = wholeLanes(range.last);
  padRange(row, begin, range.first, range.last, end);
  V largest = T::set(kNone);
  for (int64_t j = begin; j < end; j += kLanes)
    largest = T::larger(T::load(row + j), largest);
  alignas(64) float lanes[kLanes];
  T::store(lanes, largest);
  float max = maxOfLanes(lanes) * args.scale;
  max = max > args.max ? max : args.max;
  const float base = max == kNone ? 0 : max;

  const V scale = T::set(args.scale), offset = T::set(-base);
  V sum = T::set(0.0f);
  if (args.narrow) {
    for (int64_t j = begin; j < end; j += kLanes) {
      V p = exponential<T>(T::fma(T::load(row + j), scale, offset));
      sum = T::add(sum, p);
      if (args.retained)
        p = T::mul(p, T::load(args.retained + j));
      T::storeBf16(args.narrow + j, p);
    }
    clearOutside(args.narrow, range, begin, end);
  } else {
    for (int64_t j = begin; j < end; j += kLanes) {
      V p = exponential<T>(T::fma(T::load(row + j), scale, offset));
      sum = T::add(sum, p);
      if (args.retained)
        p = T::mul(p, T::load(args.retained + j));
      T::store(row + j, p);
    }
    clearOutside(row, range, begin, end);
  }
  T::store(lanes, T::set(args.max - base));
  T::store(lanes, exponential<T>(T::load(lanes)));
  args.correction = lanes[0];
  T::store(lanes, sum);
  float sumOfBlock = sumOfLanes(lanes);
  T::store(lanes, T::fma(T::set(args.sum), T::set(args.correction),
                         T::set(sumOfBlock)));
  args.sum = lanes[0];
  args.max = max;
}

template <class T, bool Narrow, bool Gains>
void gradientGroups(const GradientArgs &args, int64_t begin, int64_t end) {
  using V = typename T::V;
  const V scale = T::set(args.scale), offset = T::set(-args.lse);
  const V delta = T::set(args.delta), weight = T::set(args.weight);
  V gain = T::set(args.gain);
  for (int64_t j = begin; j < end; j += kLanes) {
    V p = exponential<T>(T::fma(T::load(args.scores + j), scale, offset));
    p = T::mul(p, weight);
    if (Gains)
      gain = T::load(args.gains + j);
    V dp = T::load(args.products + j);
    if (args.retained)
      dp = T::mul(dp, T::load(args.retained + j));
    V ds = T::mul(T::mul(p, T::sub(dp, delta)), gain);
    if (args.retained)
      p = T::mul(p, T::load(args.retained + j));
    if (Narrow) {
      T::storeBf16(args.narrowP + j, p);
      T::storeBf16(args.narrowDs + j, ds);
    } else {
      T::store(args.scores + j, p);
      T::store(args.products + j, ds);
    }
  }
}

template <class T> void gradientRow(const GradientArgs &args) {
  const RowRange &range = args.range;
  int64_t begin = range.first / kLanes * kLanes, end = wholeLanes(range.last);
  if (args.lse == kNone)
    begin = end = range.begin;
  padRange(args.scores, begin, range.first, range.last, end);
  if (args.narrowP) {
    if (args.gains)
      gradientGroups<T, true, true>(args, begin, end);
    else
      gradientGroups<T, true, false>(args, begin, end);
    clearOutside(args.narrowP, range, begin, end);
    clearOutside(args.narrowDs, range, begin, end);
    return;
  }
  if (args.gains)
    gradientGroups<T, false, true>(args, begin, end);
  else
    gradientGroups<T, false, false>(args, begin, end);
  clearOutside(args.scores, range, begin, end);
  clearOutside(args.products, range, begin, end);
}

/// scores = softcap * tanh(scores / softcap), and gains times its derivative.
template <class T> void capScores(const ScoreArgs &args) {
  using V = typename T::V;
  const V cap = T::set(args.softcap);
  for (int64_t j = args.first / kLanes * kLanes; j < args.last; j += kLanes) {
    V t = tangent<T>(T::div(T::load(args.scores + j), cap));
    T::store(args.scores + j, T::mul(cap, t));
    if (args.gains) {
      V slope = T::sub(T::set(1.0f), T::mul(t, t));
      T::store(args.gains + j, T::mul(T::load(args.gains + j), slope));
    }
  }
}

template <class In> inline void addBias(const ScoreArgs &args, const In *bias) {
  float *row = args.scores;
  if (args.strideBias == 1)
    for (int64_t j = args.first; j < args.last; ++j)
      row[j] = row[j] + widen(bias[j]);
  else
    for (int64_t j = args.first; j < args.last; ++j)
      row[j] = row[j] + widen(bias[j * args.strideBias]);
}

inline void addBias(const ScoreArgs &args) {
  switch (args.typeBias) {
  case WEFT_RT_BF16:
    return addBias(args, static_cast<const Bf16 *>(args.bias));
  case WEFT_RT_F16:
    return addBias(args, static_cast<const F16 *>(args.bias));
  default:
    return addBias(args, static_cast<const float *>(args.bias));
  }
}

inline void applyMask(const ScoreArgs &args) {
  for (int64_t j = args.first; j < args.last; ++j) {
    bool keeps = args.mask[j * args.strideMask] != 0;
    args.scores[j] = keeps ? args.scores[j] : args.fill;
    if (args.gains)
      args.gains[j] = keeps ? args.gains[j] : 0;
  }
}

template <class T> void scoreRow(const ScoreArgs &args) {
  for (int64_t j = args.first; j < args.last; ++j)
    args.scores[j] = args.scores[j] * args.scale;
  if (args.gains)
    for (int64_t j = args.first / kLanes * kLanes; j < wholeLanes(args.last);
         ++j)
      args.gains[j] = args.scale;
  if (args.softcap != 0)
    capScores<T>(args);
  if (args.bias)
    addBias(args);
  if (args.mask)
    applyMask(args);
  if (args.segments)
    for (int64_t j = args.first; j < args.last; ++j)
      if (args.segments[j * args.strideSegments] != args.segment)
        args.scores[j] = kNone;
}

template <class T> void scaleRow(float *row, int64_t count, float factor) {
  for (int64_t i = 0; i < count; i += kLanes)
    T::store(row + i, T::mul(T::load(row + i), T::set(factor)));
}

template <class T> void divideRow(float *row, int64_t count, float divisor) {
  for (int64_t i = 0; i < count; i += kLanes)
    T::store(row + i,
             T::add(T::div(T::load(row + i), T::set(divisor)), T::set(0.0f)));
}

template <class T> void addRow(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes)
    T::store(to + i, T::add(T::load(to + i), T::load(from + i)));
}

template <class T> float dotRow(const float *a, const float *b, int64_t count) {
  typename T::V sum = T::set(0.0f);
  for (int64_t i = 0; i < count; i += kLanes)
    sum = T::fma(T::load(a + i), T::load(b + i), sum);
  alignas(64) float lanes[kLanes];
  T::store(lanes, sum);
  return sumOfLanes(lanes);
}

template <class In>
inline void loadAs(const In *from, int64_t stride, int64_t count, float *to) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      to[i] = widen(from[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = widen(from[i * stride]);
  for (int64_t i = count; i < wholeLanes(count); ++i)
    to[i] = 0;
}

inline void loadRow(weft_rt_type type, const void *from, int64_t stride,
                    int64_t count, float *to) {
  switch (type) {
  case WEFT_RT_BF16:
    return loadAs(static_cast<const Bf16 *>(from), stride, count, to);
  case WEFT_RT_F16:
    return loadAs(static_cast<const F16 *>(from), stride, count, to);
  default:
    return loadAs(static_cast<const float *>(from), stride, count, to);
  }
}

template <class Out>
inline void storeAs(const float *from, int64_t count, Out *to, int64_t stride) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      narrow(from[i], to[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      narrow(from[i], to[i * stride]);
}

inline void storeRow(weft_rt_type type, const float *from, int64_t count,
                     void *to, int64_t stride) {
  switch (type) {
  case WEFT_RT_BF16:
    return storeAs(from, count, static_cast<Bf16 *>(to), stride);
  case WEFT_RT_F16:
    return storeAs(from, count, static_cast<F16 *>(to), stride);
  default:
    return storeAs(from, count, static_cast<float *>(to), stride);
  }
}

template <class T> constexpr RowKernels makeRowKernels() {
  return {scoreRow<T>,  retainRow, softmaxRow<T>, gradientRow<T>, scaleRow<T>,
          divideRow<T>, addRow<T>, dotRow<T>,     loadRow,        storeRow};
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_ROWS_TEMPLATE_H
