// SPDX-License-Identifier: Apache-2.0

// The memory that a thread needs while it runs a contraction: packed blocks of
// A and B, sums that wait for others over K, and offset tables. Its size
// is fixed, so a thread allocates once.

#ifndef WEFT_RT_GEMM_WORKSPACE_H
#define WEFT_RT_GEMM_WORKSPACE_H

#include "order.h"

#include <cstdint>

namespace weft::rt::detail {

constexpr int64_t kPackedABytes = 512 << 10;
constexpr int64_t kPackedBBytes = 1 << 20;
constexpr int64_t kSumBytes = 8 << 20;
constexpr int64_t kMaxBlockColumns = 1024;
constexpr int64_t kMaxBlockRows = 256;
constexpr int64_t kTileBytes = 4 << 10; // the largest tile of sums
constexpr int kTileStack = 10;          // for a tree over kLongestPass leaves

struct alignas(64) Workspace {
  char packedA[kPackedABytes];
  char packedB[kPackedBBytes];
  char tile[kTileBytes];
  char inFlight[kTileBytes];
  char tileStack[kTileStack * kTileBytes];
  int64_t kA[kLongestPass], kB[kLongestPass];
  int64_t nB[kMaxBlockColumns], nC[kMaxBlockColumns];
  int64_t mA[kMaxBlockRows], mC[kMaxBlockRows];
  alignas(64) char sums[kSumBytes]; // last: large, and not always used
};

/// The calling thread's workspace; ends the process with a message when there
/// is no memory for it.
Workspace &threadWorkspace();

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_WORKSPACE_H
