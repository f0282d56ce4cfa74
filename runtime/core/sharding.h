// SPDX-License-Identifier: Apache-2.0

// Cuts a dense global tensor into the ranks' local buffers, and joins them
// again. Both sides are row-major and dense.
//
// Example: 10 rows over t = 4 shards are cut into chunks of ceil(10 / 4) = 3.
// Rank chunk 0 holds rows 0..2, chunk 3 holds row 9 and two rows of padding;
// over t = 8 the chunk is 2 and chunks 5, 6, 7 are empty. Padding is not
// touched by a cut and not read by a join.

#ifndef WEFT_RT_CORE_SHARDING_H
#define WEFT_RT_CORE_SHARDING_H

#include "weft-rt/abi.h"

#include <cstddef>
#include <vector>

namespace weft::rt {

/// The part of a tensor that one rank holds.
struct Region {
  std::vector<int64_t> globalShape;
  std::vector<int64_t> localShape; // of the buffer, padding included
  std::vector<int64_t> offset;     // of the part in the global tensor
  std::vector<int64_t> extent;     // of the part: 0 in an empty chunk
};

/// The region of `tensor` that `rank` holds.
Region regionOf(const weft_rt_program &program, const weft_rt_tensor &tensor,
                int64_t rank);

/// The lowest of all ranks that hold the same part as `rank`.
int64_t firstHolder(const weft_rt_program &program,
                    const weft_rt_tensor &tensor, int64_t rank);

/// Says whether the region has no element, as an empty chunk's.
bool isEmpty(const Region &region);

/// Copies the region's part of `global` into `local`.
void cutRegion(weft_rt_type type, const Region &region, const void *global,
               void *local);

/// Copies the valid part of `local` to its place in `global`. Regions that
/// are joined at the same time must not share a byte: see sharesBytes.
void joinRegion(weft_rt_type type, const Region &region, const void *local,
                void *global);

/// Says whether parts of different ranks may meet within a byte, so that they
/// must be joined one after the other.
bool sharesBytes(const weft_rt_tensor &tensor);

} // namespace weft::rt

#endif // WEFT_RT_CORE_SHARDING_H
