// SPDX-License-Identifier: Apache-2.0

// A block of scores: some queries of one head against the keys of one block,
// and of these only as many as some of the queries sees.

#ifndef WEFT_RT_ATTENTION_SCORES_H
#define WEFT_RT_ATTENTION_SCORES_H

#include "block_space.h"
#include "problem.h"
#include "product.h"
#include "rows.h"

namespace weft::rt::detail {

/// Queries from `first` on.
struct QueryRange {
  int64_t first, count;
};

/// What all blocks of a problem share.
struct Context {
  Context(const Problem &problem);

  const Problem &problem;
  const RowKernels &rows;
  /// P and dS are rounded to bf16.
  bool narrow;
  /// Of products of blocks, as weft_rt_gemm has them.
  int64_t leaves;
};

class ScoreBlock {
public:
  ScoreBlock(const Context &context, BlockSpace &space)
      : context(context), problem(context.problem), space(space) {}

  /// Moves to other queries and keys; false: none of them sees a key.
  bool moveTo(const Problem::Heads &heads, QueryRange queries, KeyRange keys);

  /// Brings keys and values of a block to the form that products with queries
  /// read, where many queries are to come.
  void prepareKeys(const Problem::Heads &heads, KeyRange keys);

  /// scores = product of queries and keys.
  void multiplyKeys();
  /// products = product of the gradients of outputs and values.
  void multiplyValues();

  /// Rows are those of queries().
  RowRange range(int64_t row) const;
  float *scores(int64_t row) { return space.scores + row * kScoreStride; }
  float *products(int64_t row) { return space.products + row * kScoreStride; }
  uint16_t *narrowP(int64_t row) {
    return context.narrow ? space.narrowP + row * kScoreStride : nullptr;
  }
  uint16_t *narrowDs(int64_t row) {
    return context.narrow ? space.narrowDs + row * kScoreStride : nullptr;
  }
  /// Brings a row to the scores' scale, where that is more than one product;
  /// returns what is still to be multiplied. The gains, if wanted, are in the
  /// space's; false: they are the problem's scale.
  float finishScores(int64_t row, const RowRange &range, bool wantsGains);
  bool hasGains() const { return !isPlain; }
  /// What a row's weights are multiplied by, in the space; null: nothing.
  const float *retained(int64_t row, const RowRange &range);

  QueryRange queries() const { return current; }
  /// Columns that products read, and the key of the first.
  int64_t begin() const { return firstColumn; }
  int64_t columns() const { return endColumn - firstColumn; }
  int64_t firstKey() const { return origin + firstColumn; }

  /// queries x columns().
  Matrix p() const;
  Matrix ds() const;
  /// columns() keys, and all queries, by the elements of a head.
  Matrix keys(int tensor) const;
  Matrix queriesOf(int tensor) const;

private:
  Matrix across(int tensor) const;
  /// Where a tensor has the number of a row and the first key; null: nowhere.
  const void *numberOf(int tensor, int64_t row) const;
  void transpose(int tensor, KeyRange keys, int64_t count, float *to);

  const Context &context;
  const Problem &problem;
  BlockSpace &space;
  Problem::Heads heads{};
  QueryRange current{};
  int64_t origin = 0; // the key of column 0
  int64_t firstColumn = 0, endColumn = 0;
  bool isPlain = true;
  bool isPrepared = false;
};

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_SCORES_H
