// SPDX-License-Identifier: Apache-2.0

// Subtrees form a stack, the widest at the bottom: after subtree i they are the
// binary digits of i + 1, as in a counter.

#include "leaves.h"

#include "attention.h"

#include <algorithm>

namespace weft::rt::detail {

LeafOrder::LeafOrder(int64_t groups, int64_t queries, int64_t leaves)
    : queries(queries) {
  const int64_t all = groups * queries;
  int64_t leafCount = all > 0 && leaves > 0 ? leaves : 1;
  rows = all / leafCount;
  while (rows > 0 && 2 * rows <= kAttentionQueries &&
         queries % (2 * rows) == 0 && leafCount % 2 == 0) {
    rows *= 2;
    leafCount /= 2;
    atOnce *= 2;
  }
  numSubtrees = leafCount;
}

int64_t LeafOrder::levels() const {
  int64_t levels = 1;
  for (int64_t rest = numSubtrees; rest > 1; rest /= 2)
    ++levels;
  return levels;
}

int LeafOrder::joins(int64_t subtree, int depth) const {
  return subtree + 1 == numSubtrees ? depth : __builtin_ctzll(~subtree);
}

LeafBlock LeafOrder::blockAt(int64_t row, int64_t end) const {
  const int64_t group = row / queries, first = row % queries;
  return {group, first,
          std::min({queries - first, end - row, kAttentionQueries})};
}

} // namespace weft::rt::detail
