// SPDX-License-Identifier: Apache-2.0

// P and dS of a block of queries and keys.

#ifndef WEFT_RT_ATTENTION_GRADIENT_BLOCK_H
#define WEFT_RT_ATTENTION_GRADIENT_BLOCK_H

#include "scores.h"

namespace weft::rt::detail {

class GradientBlock {
public:
  GradientBlock(const Context &context, BlockSpace &space)
      : context(context), problem(context.problem), space(space),
        block(context, space) {}

  /// Several compute() with these keys follow.
  void prepareKeys(const Problem::Heads &heads, KeyRange keys) {
    block.prepareKeys(heads, keys);
  }

  /// False, and nothing is computed: no query sees a key.
  bool compute(const Problem::Heads &heads, QueryRange queries, KeyRange keys);

  /// dq += ds k
  void addToQueries(const Matrix &dq) const;
  /// dk += ds q and dv += p dout, of the keys of compute(). Keys lie one after
  /// the other, elements of heads `stride` apart.
  void addToKeys(float *dk, float *dv, int64_t stride, int64_t leaves) const;

private:
  /// The greatest score of a query and the sum of exponentials below it; a sum
  /// of 0: lse is as good.
  struct RowSum {
    float max, sum;
  };

  float lse(const Problem::Heads &heads, int64_t query) const;
  bool findLargeRows(const Problem::Heads &heads, QueryRange queries);
  void addUpLargeRows(const Problem::Heads &heads, QueryRange queries);
  void computeRow(const Problem::Heads &heads, int64_t row);
  float delta(const Problem::Heads &heads, int64_t query) const;

  const Context &context;
  const Problem &problem;
  BlockSpace &space;
  ScoreBlock block;
  bool isLarge[kAttentionQueries];
  RowSum sums[kAttentionQueries];
};

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_GRADIENT_BLOCK_H
