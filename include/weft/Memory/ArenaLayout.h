// SPDX-License-Identifier: Apache-2.0

// Offsets for blocks of memory that are alive for some time: blocks whose times
// meet do not overlap, and the arena is to be as small as possible.
//
// No arena can be smaller than the bytes that are alive at one time, the bound.
// Finding the smallest is NP-hard; several orders are tried, until one reaches
// the bound. Each takes n log n steps, except the one by size, which is given
// up after a number of steps that grows like that.

#ifndef WEFT_MEMORY_ARENALAYOUT_H
#define WEFT_MEMORY_ARENALAYOUT_H

#include <cstdint>
#include <vector>

namespace mlir::weft {

/// Arena offsets are multiples of this.
constexpr int64_t kArenaAlignment = 64;

struct ArenaBlock {
  int64_t bytes = 0;
  /// The first and the last time at which it is alive.
  int64_t begin = 0, end = 0;
  int64_t offset = 0;
};

/// The most bytes that are alive at one time, and the first such time. Each
/// block counts rounded up to the alignment.
struct ArenaPeak {
  int64_t bytes = 0, time = 0;
};
ArenaPeak findArenaPeak(const std::vector<ArenaBlock> &blocks);

/// Sets the offsets; returns the bytes of the arena.
int64_t layOutArena(std::vector<ArenaBlock> &blocks);

} // namespace mlir::weft

#endif // WEFT_MEMORY_ARENALAYOUT_H
