// SPDX-License-Identifier: Apache-2.0

// delta is computed again for each block of keys: it is a small part of a
// block's work, and needs no memory.

#include "gradient_block.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace weft::rt::detail {

/// Where the logarithm of a sum is lost in the lse that it is added to: what a
/// mask or a bias takes all keys from has scores like -1e30.
constexpr float kLargeLse = 256;

float GradientBlock::lse(const Problem::Heads &heads, int64_t query) const {
  return *reinterpret_cast<const float *>(problem.element(
      heads, WEFT_RT_ATTENTION_LSE, query * problem.query.stride_lse));
}

bool GradientBlock::findLargeRows(const Problem::Heads &heads,
                                  QueryRange queries) {
  bool found = false;
  for (int64_t row = 0; row < queries.count; ++row) {
    const float of = lse(heads, queries.first + row);
    isLarge[row] = std::isfinite(of) && std::abs(of) > kLargeLse;
    sums[row] = {-std::numeric_limits<float>::infinity(), 0};
    found |= isLarge[row];
  }
  return found;
}

/// As the forward pass adds them up.
void GradientBlock::addUpLargeRows(const Problem::Heads &heads,
                                   QueryRange queries) {
  ScoreBlock all(context, space);
  for (int64_t key = 0; key < problem.key.size; key += kAttentionForwardKeys) {
    if (!all.moveTo(
            heads, queries,
            {key, std::min(problem.key.size, key + kAttentionForwardKeys)}))
      continue;
    all.multiplyKeys();
    for (int64_t row = 0; row < queries.count; ++row) {
      if (!isLarge[row])
        continue;
      SoftmaxArgs args;
      args.scores = all.scores(row);
      args.narrow = all.narrowP(row);
      args.range = all.range(row);
      args.scale = all.finishScores(row, args.range, /*wantsGains=*/false);
      args.retained = nullptr; // the sums are those of all keys
      args.max = sums[row].max;
      args.sum = sums[row].sum;
      context.rows.softmax(args);
      sums[row] = {args.max, args.sum};
    }
  }
}

bool GradientBlock::compute(const Problem::Heads &heads, QueryRange queries,
                            KeyRange keys) {
  if (!block.moveTo(heads, queries, keys))
    return false;
  if (findLargeRows(heads, queries))
    addUpLargeRows(heads, queries);
  block.multiplyKeys();
  block.multiplyValues();
  for (int64_t row = 0; row < queries.count; ++row)
    computeRow(heads, row);
  return true;
}

void GradientBlock::computeRow(const Problem::Heads &heads, int64_t row) {
  const int64_t query = block.queries().first + row;
  GradientArgs args;
  args.scores = block.scores(row);
  args.products = block.products(row);
  args.narrowP = block.narrowP(row);
  args.narrowDs = block.narrowDs(row);
  args.range = block.range(row);
  args.scale = block.finishScores(row, args.range, /*wantsGains=*/true);
  args.gains = block.hasGains() ? space.gains : nullptr;
  args.gain = problem.desc.scale;
  const RowSum &sum = sums[row];
  args.lse = sum.sum != 0 ? sum.max : lse(heads, query);
  args.weight = sum.sum != 0 ? 1 / sum.sum : 1;
  args.delta = delta(heads, query);
  args.retained = block.retained(row, args.range);
  context.rows.gradient(args);
}

float GradientBlock::delta(const Problem::Heads &heads, int64_t query) const {
  const int64_t count = problem.value.size;
  int i = 0;
  for (int tensor : {WEFT_RT_ATTENTION_DOUT, WEFT_RT_ATTENTION_OUT})
    context.rows.load(
        problem.desc.type,
        problem.element(heads, tensor,
                        query * problem.stride(tensor, problem.query)),
        problem.stride(tensor, problem.value), count, space.rows[i++]);
  return context.rows.dot(space.rows[0], space.rows[1], wholeLanes(count));
}

void GradientBlock::addToQueries(const Matrix &dq) const {
  multiply({block.queries().count, problem.depth.size, block.columns()},
           block.ds(), block.keys(WEFT_RT_ATTENTION_K), dq, Into::Sum,
           context.leaves);
}

void GradientBlock::addToKeys(float *dk, float *dv, int64_t stride,
                              int64_t leaves) const {
  const int64_t queries = block.queries().count;
  multiply({block.columns(), problem.depth.size, queries},
           block.ds().transposed(), block.queriesOf(WEFT_RT_ATTENTION_Q),
           Matrix{WEFT_RT_F32, dk + block.begin(), 1, stride}, Into::Sum,
           leaves);
  multiply({block.columns(), problem.value.size, queries},
           block.p().transposed(), block.queriesOf(WEFT_RT_ATTENTION_DOUT),
           Matrix{WEFT_RT_F32, dv + block.begin(), 1, stride}, Into::Sum,
           leaves);
}

} // namespace weft::rt::detail
