// SPDX-License-Identifier: Apache-2.0

// The order in which queries are summed for dk and dv, as the gradient's loops
// walk it. Short leaves are taken several at a time: as many as a power of two,
// which are a subtree that one product sums.

#ifndef WEFT_RT_ATTENTION_LEAVES_H
#define WEFT_RT_ATTENTION_LEAVES_H

#include <cstdint>

namespace weft::rt::detail {

/// A part of a subtree within one group that one product sums.
struct LeafBlock {
  int64_t group, firstQuery, queries;
};

class LeafOrder {
public:
  /// Of `groups` x `queries`; leaves 0: one, in open order.
  LeafOrder(int64_t groups, int64_t queries, int64_t leaves);

  /// Subtrees that are summed on their own.
  int64_t subtrees() const { return numSubtrees; }
  /// Leaves in one product.
  int64_t leavesAtOnce() const { return atOnce; }
  /// How many sums there are at most at a time.
  int64_t levels() const;
  /// With how many earlier sums a subtree joins that finds `depth` of them.
  int joins(int64_t subtree, int depth) const;

  /// Calls body(LeafBlock) for a subtree's blocks, ascending.
  template <class Body> void walk(int64_t subtree, Body body) const {
    const int64_t end = (subtree + 1) * rows;
    for (int64_t row = subtree * rows; row < end;) {
      LeafBlock block = blockAt(row, end);
      body(block);
      row += block.queries;
    }
  }

private:
  LeafBlock blockAt(int64_t row, int64_t end) const;

  int64_t queries, rows, atOnce = 1, numSubtrees;
};

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_LEAVES_H
