// SPDX-License-Identifier: Apache-2.0

// Products that make scores, and what rows of them go through.

#include "scores.h"

#include "contract/attention_formulas.h"

#include <algorithm>

namespace weft::rt::detail {

const RowKernels &activeRows() {
#ifdef WEFT_ATTENTION_X86
  if (activeIsa() >= Isa::Avx512)
    return kAvx512Rows;
  if (activeIsa() == Isa::Avx2)
    return kAvx2Rows;
#endif
  return kScalarRows;
}

Context::Context(const Problem &problem)
    : problem(problem), rows(activeRows()),
      narrow(problem.desc.type == WEFT_RT_BF16 &&
             (problem.desc.leaves > 0 || activeIsa() >= Isa::Avx512Bf16)),
      leaves(problem.desc.leaves > 0) {}

bool ScoreBlock::moveTo(const Problem::Heads &newHeads, QueryRange queries,
                        KeyRange keys) {
  heads = newHeads;
  current = queries;
  origin = keys.first;
  KeyRange seen = problem.seenBy(queries.first, queries.count).within(keys);
  if (seen.empty())
    return false;
  // Chains of products go in steps of up to 32; these stay where they are.
  constexpr int64_t step = 32;
  firstColumn = (seen.first - origin) / step * step;
  endColumn = seen.last - origin;
  // With one rounding less where nothing else is to be done.
  isPlain = problem.desc.scale > 0 && problem.desc.softcap == 0 &&
            !heads.at[WEFT_RT_ATTENTION_BIAS] &&
            !heads.at[WEFT_RT_ATTENTION_MASK] &&
            !heads.at[WEFT_RT_ATTENTION_Q_SEGMENTS];
  return true;
}

static Matrix headsOf(const Problem &problem, const Problem::Heads &heads,
                      int tensor, const weft_rt_attention_dim &sequence,
                      int64_t first) {
  const bool isDepth =
      tensor == WEFT_RT_ATTENTION_Q || tensor == WEFT_RT_ATTENTION_K;
  const int64_t stride = problem.stride(tensor, sequence);
  return {problem.typeOf(tensor),
          problem.element(heads, tensor, first * stride), stride,
          problem.stride(tensor, isDepth ? problem.depth : problem.value)};
}

Matrix ScoreBlock::keys(int tensor) const {
  return headsOf(problem, heads, tensor, problem.key, firstKey());
}

Matrix ScoreBlock::queriesOf(int tensor) const {
  return headsOf(problem, heads, tensor, problem.query, current.first);
}

Matrix ScoreBlock::p() const {
  if (context.narrow)
    return {WEFT_RT_BF16, space.narrowP + firstColumn, kScoreStride, 1};
  return {WEFT_RT_F32, space.scores + firstColumn, kScoreStride, 1};
}

Matrix ScoreBlock::ds() const {
  if (context.narrow)
    return {WEFT_RT_BF16, space.narrowDs + firstColumn, kScoreStride, 1};
  return {WEFT_RT_F32, space.products + firstColumn, kScoreStride, 1};
}

/// Keys as columns.
Matrix ScoreBlock::across(int tensor) const {
  if (!isPrepared)
    return keys(tensor).transposed();
  const float *data = space.across[tensor == WEFT_RT_ATTENTION_V];
  return {WEFT_RT_F32, data + firstColumn, kScoreStride, 1};
}

void ScoreBlock::prepareKeys(const Problem::Heads &newHeads, KeyRange keys) {
  // It pays where a block's keys would be packed several times.
  constexpr int64_t manyQueries = 4 * kAttentionQueries;
  isPrepared = !context.narrow && problem.depth.size <= kMostAcross &&
               problem.value.size <= kMostAcross &&
               problem.groups * problem.query.size > manyQueries;
  if (!isPrepared)
    return;
  heads = newHeads;
  transpose(WEFT_RT_ATTENTION_K, keys, problem.depth.size, space.across[0]);
  transpose(WEFT_RT_ATTENTION_V, keys, problem.value.size, space.across[1]);
}

void ScoreBlock::transpose(int tensor, KeyRange keys, int64_t count,
                           float *to) {
  const Matrix from = headsOf(problem, heads, tensor, problem.key, keys.first);
  float *row = space.rows[0];
  for (int64_t key = 0; key < keys.last - keys.first; ++key) {
    const char *data = static_cast<const char *>(from.data) +
                       key * from.rowStride * bytesOfType(from.type);
    context.rows.load(from.type, data, from.columnStride, count, row);
    for (int64_t i = 0; i < count; ++i)
      to[i * kScoreStride + key] = row[i];
  }
}

void ScoreBlock::multiplyKeys() {
  multiply({current.count, columns(), problem.depth.size},
           queriesOf(WEFT_RT_ATTENTION_Q), across(WEFT_RT_ATTENTION_K),
           space.scores + firstColumn, kScoreStride, Into::Empty,
           context.leaves);
}

void ScoreBlock::multiplyValues() {
  multiply({current.count, columns(), problem.value.size},
           queriesOf(WEFT_RT_ATTENTION_DOUT), across(WEFT_RT_ATTENTION_V),
           space.products + firstColumn, kScoreStride, Into::Empty,
           context.leaves);
}

RowRange ScoreBlock::range(int64_t row) const {
  KeyRange seen = problem.seenBy(current.first + row);
  int64_t first = std::clamp(seen.first - origin, firstColumn, endColumn);
  int64_t last = std::clamp(seen.last - origin, first, endColumn);
  return {firstColumn, endColumn, first, last};
}

const void *ScoreBlock::numberOf(int tensor, int64_t row) const {
  if (!heads.at[tensor])
    return nullptr;
  return problem.element(heads, tensor,
                         (current.first + row) *
                                 problem.stride(tensor, problem.query) +
                             origin * problem.stride(tensor, problem.key));
}

float ScoreBlock::finishScores(int64_t row, const RowRange &range,
                               bool wantsGains) {
  const weft_rt_attention &desc = problem.desc;
  if (isPlain)
    return desc.scale;
  ScoreArgs args{};
  args.scores = scores(row);
  args.first = range.first;
  args.last = range.last;
  args.scale = desc.scale;
  args.softcap = desc.softcap;
  args.fill = desc.fill;
  args.gains = wantsGains ? space.gains : nullptr;
  args.bias = numberOf(WEFT_RT_ATTENTION_BIAS, row);
  args.typeBias = desc.type_bias;
  args.strideBias = problem.key.stride_bias;
  args.mask =
      static_cast<const uint8_t *>(numberOf(WEFT_RT_ATTENTION_MASK, row));
  args.strideMask = problem.key.stride_mask;
  args.segments =
      static_cast<const int32_t *>(numberOf(WEFT_RT_ATTENTION_K_SEGMENTS, row));
  args.strideSegments = problem.key.stride_k_segments;
  if (args.segments)
    args.segment = *static_cast<const int32_t *>(
        numberOf(WEFT_RT_ATTENTION_Q_SEGMENTS, row));
  context.rows.score(args);
  return 1;
}

const float *ScoreBlock::retained(int64_t row, const RowRange &range) {
  if (problem.desc.dropout == 0)
    return nullptr;
  auto seed = [&](int tensor) {
    return *static_cast<const uint32_t *>(numberOf(tensor, row));
  };
  RetainArgs args;
  args.retained = space.retained;
  args.firstKey = origin;
  args.first = range.first;
  args.last = range.last;
  args.lowSeed = seed(WEFT_RT_ATTENTION_LOW_SEEDS);
  args.highSeed = seed(WEFT_RT_ATTENTION_HIGH_SEEDS);
  args.limit = dropLimit(problem.desc.dropout);
  args.gain = retainedGain(problem.desc.dropout);
  context.rows.retain(args);
  return space.retained;
}

} // namespace weft::rt::detail
