// SPDX-License-Identifier: Apache-2.0

// The order of summation over K, as the blocked loops walk it. K is cut into
// passes, each packed at once: a few whole leaves, or one block of a long leaf.
// Subtrees that wait for their sibling form a stack, the widest at the bottom:
// after leaf j they are the binary digits of j + 1, as in a counter. What joins
// after the last leaf is the whole stack, from the top.

#ifndef WEFT_RT_GEMM_ORDER_H
#define WEFT_RT_GEMM_ORDER_H

#include "gemm.h"

#include <cstdint>

namespace weft::rt::detail {

/// Elements of K that are packed at once, at most. A block of a leaf fits; so
/// do two leaves that are a bit longer than half a block, as to join them in
/// the workspace would cost more than shorter rows of panels.
constexpr int64_t kLongestPass = kGemmKBlock * 3 / 2;

/// `segments` chains of the microkernel over consecutive elements of K.
struct Pass {
  int64_t begin;     // of K
  int64_t segments;  // leaves, or 1
  int64_t segment;   // elements of each
  int64_t firstLeaf; // the number of the first segment's leaf
  bool continues;    // the leaf has begun in an earlier pass
  bool endsLeaf;     // no block of the leaf is left
  bool last;
  int depth; // subtrees on the stack before the pass

  int64_t count() const { return segments * segment; }
};

class SummationOrder {
public:
  /// `leaves` divides `k`; segments are padded to a multiple of `kMultiple`.
  SummationOrder(int64_t k, int64_t leaves, int kMultiple);

  int64_t passes() const { return numPasses; }
  /// With padding; at most kLongestPass.
  int64_t longestPass() const { return longest; }
  Pass pass(int64_t index) const;

  /// With how many subtrees a leaf joins that finds `depth` on the stack.
  int joins(int64_t leaf, int depth) const;

  /// The stack's place that a pass's result takes.
  int place(const Pass &pass) const;

  /// Places of the stack that hold something between passes.
  int places() const;

private:
  int64_t leaves, leaf, longest;
  int64_t leavesPerPass, passesPerLeaf, numPasses;
};

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_ORDER_H
