// SPDX-License-Identifier: Apache-2.0

// delta is computed again for each block of keys: it is a small part of a
// block's work, and needs no memory.

#include "gradient_block.h"

#include <initializer_list>

namespace weft::rt::detail {

bool GradientBlock::compute(const Problem::Heads &heads, QueryRange queries,
                            KeyRange keys) {
  if (!block.moveTo(heads, queries, keys))
    return false;
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
  args.lse = *reinterpret_cast<const float *>(problem.element(
      heads, WEFT_RT_ATTENTION_LSE, query * problem.query.stride_lse));
  args.delta = delta(heads, query);
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
