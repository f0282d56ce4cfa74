// SPDX-License-Identifier: Apache-2.0

// dk and dv of a block of keys, summed over groups and queries, and on the way,
// if that is wanted, what the block adds to dq.

#ifndef WEFT_RT_ATTENTION_KEY_PASS_H
#define WEFT_RT_ATTENTION_KEY_PASS_H

#include "gradient_block.h"
#include "leaves.h"

#include <utility>

namespace weft::rt::detail {

/// How dk and dv are summed: the same for all blocks of keys.
struct KeyPlan {
  KeyPlan(const Problem &problem);

  LeafOrder order;
  int64_t depth, value;
  int64_t keys;   // whose sums fit in the space
  int64_t stride; // of an element of a head: a sum is [depth + value][stride]
};

/// Where sums of dq are during the pass.
class QuerySums {
public:
  QuerySums(const Context &context, BlockSpace &space, int64_t batch);

  /// Whether all groups' sums have a place, in dq itself or in the space.
  static bool fit(const Problem &problem);

  void clear();
  Matrix at(int64_t group, int64_t query) const;
  /// Brings the sums to dq, if they are not there.
  void finish();

private:
  template <class Body> void forRows(Body body);

  const Context &context;
  const Problem &problem;
  float *const sums;
  const int64_t batch, width;
  const bool inPlace;
};

class KeyPass {
public:
  KeyPass(const Context &context, const KeyPlan &plan, BlockSpace &space,
          int64_t batch);

  /// `querySums` may be null.
  void compute(KeyRange keys, const QuerySums *querySums);

private:
  static constexpr int kMostLevels = 64;

  void addSubtree(int64_t subtree, KeyRange keys, const QuerySums *querySums);
  void join(int into, int other);
  void finish(KeyRange keys);
  void store(int tensor, KeyRange keys, const float *from, int64_t count);
  int64_t size() const { return (plan.depth + plan.value) * plan.stride; }
  float *valueSums(int level) const {
    return sums[level] + plan.depth * plan.stride;
  }

  const Context &context;
  const Problem &problem;
  const KeyPlan &plan;
  BlockSpace &space;
  GradientBlock block;
  const int64_t batch;
  float *sums[kMostLevels];
  bool isEmpty[kMostLevels];
  int depth = 0;
};

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_KEY_PASS_H
