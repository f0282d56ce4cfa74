// SPDX-License-Identifier: Apache-2.0

// Which ranks cannot differ in what they do when.

#ifndef WEFT_SIMULATE_CLASSES_H
#define WEFT_SIMULATE_CLASSES_H

#include "weft/Simulate/Replay.h"

namespace mlir::weft {

/// Ranks in classes, numbered by their first rank, and the groups of classes:
/// groups that hold the same classes are one.
struct RankClasses {
  std::vector<int32_t> classOf;
  std::vector<int64_t> representative;
  std::vector<ReplayChannel> channels;
};

/// Every rank is a class of its own.
RankClasses makeSingletons(int64_t numRanks,
                           const std::vector<ReplayChannel> &channels);

/// The coarsest classes in which ranks have equal slowness (empty: all have)
/// and, for each channel, groups that hold members of the same classes. How
/// many members does not matter: a collective begins when the last is there.
RankClasses refineClasses(int64_t numRanks,
                          const std::vector<ReplayChannel> &channels,
                          const std::vector<double> &slowness);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_CLASSES_H
