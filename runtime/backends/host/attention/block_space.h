// SPDX-License-Identifier: Apache-2.0

// The memory that a thread needs while it computes attention: a block of
// scores, and sums. Its size is fixed, so a thread allocates once.

#ifndef WEFT_RT_ATTENTION_BLOCK_SPACE_H
#define WEFT_RT_ATTENTION_BLOCK_SPACE_H

#include "attention.h"

namespace weft::rt::detail {

constexpr int64_t kMostKeys = kAttentionForwardKeys > kAttentionBackwardKeys
                                  ? kAttentionForwardKeys
                                  : kAttentionBackwardKeys;
/// Rows of scores do not fall on the same sets of the first-level cache.
constexpr int64_t kScoreStride = kMostKeys + 16;
/// Of the forward pass, whose results do not depend on it.
constexpr int64_t kMostQueries = 2 * kAttentionQueries;
constexpr int64_t kMostHead = WEFT_RT_ATTENTION_MAX_HEAD;
constexpr int64_t kMostAcross = 256;    // elements of a head
constexpr int64_t kKeySums = 1 << 21;   // floats
constexpr int64_t kQuerySums = 1 << 20; // floats

struct alignas(64) BlockSpace {
  float scores[kMostQueries * kScoreStride];
  float products[kAttentionQueries * kScoreStride];
  alignas(64) uint16_t narrowP[kMostQueries * kScoreStride];
  alignas(64) uint16_t narrowDs[kAttentionQueries * kScoreStride];
  alignas(64) float rows[2][kMostHead]; // of tensors, widened
  alignas(64) float gains[kScoreStride];
  alignas(64) float retained[kScoreStride];
  /// Keys and values of a block, widened, with the keys as columns.
  alignas(64) float across[2][kMostAcross * kScoreStride];
  /// o, or dq where it is not summed elsewhere.
  alignas(64) float sums[kAttentionQueries * kMostHead];
  float keySums[kKeySums];     // dk and dv
  float querySums[kQuerySums]; // dq of all queries that one thread computes
};

/// The calling thread's; ends the process with a message when there is no
/// memory for it.
BlockSpace &threadBlockSpace();

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_BLOCK_SPACE_H
