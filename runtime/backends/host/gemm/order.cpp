// SPDX-License-Identifier: Apache-2.0

// Cuts K into passes and counts the stack of subtrees.

#include "order.h"

#include <algorithm>

namespace weft::rt::detail {

static int digitsSet(int64_t value) {
  int count = 0;
  for (; value; value &= value - 1)
    ++count;
  return count;
}

SummationOrder::SummationOrder(int64_t k, int64_t numLeaves, int kMultiple)
    : leaves(k ? numLeaves : 1), leaf(k / leaves), leavesPerPass(1) {
  passesPerLeaf = std::max<int64_t>(1, (leaf + kGemmKBlock - 1) / kGemmKBlock);
  int64_t padded = (leaf + kMultiple - 1) / kMultiple * kMultiple;
  while (leavesPerPass < leaves && 2 * leavesPerPass * padded <= kLongestPass)
    leavesPerPass *= 2;
  longest = leavesPerPass * std::min(padded, kGemmKBlock);
  numPasses = (leaves + leavesPerPass - 1) / leavesPerPass * passesPerLeaf;
}

Pass SummationOrder::pass(int64_t index) const {
  int64_t block = index % passesPerLeaf;
  Pass pass;
  pass.firstLeaf = index / passesPerLeaf * leavesPerPass;
  pass.segments = std::min(leavesPerPass, leaves - pass.firstLeaf);
  pass.begin = pass.firstLeaf * leaf + block * kGemmKBlock;
  pass.segment = std::min(kGemmKBlock, leaf - block * kGemmKBlock);
  pass.continues = block > 0;
  pass.endsLeaf = block + 1 == passesPerLeaf;
  pass.last = index + 1 == numPasses;
  pass.depth = digitsSet(pass.firstLeaf);
  return pass;
}

int SummationOrder::joins(int64_t leafIndex, int depth) const {
  return leafIndex + 1 == leaves ? depth : __builtin_ctzll(~leafIndex);
}

int SummationOrder::place(const Pass &pass) const {
  if (pass.last)
    return 0;
  if (!pass.endsLeaf)
    return pass.depth;
  return digitsSet(pass.firstLeaf + pass.segments) - 1;
}

int SummationOrder::places() const {
  int most = 0;
  for (int64_t i = 0; i + 1 < numPasses; ++i)
    most = std::max(most, place(pass(i)) + 1);
  return most;
}

} // namespace weft::rt::detail
