// SPDX-License-Identifier: Apache-2.0

// Owns one space per thread.

#include "block_space.h"

#include "huge_pages.h"

#include <cstdio>
#include <cstdlib>

namespace weft::rt {
namespace detail {

/// The thread's space, or null.
static BlockSpace *findBlockSpace() {
  thread_local HugePages<BlockSpace> space;
  if (!space)
    space = allocateHugePages<BlockSpace>();
  return space.get();
}

BlockSpace &threadBlockSpace() {
  if (BlockSpace *space = findBlockSpace())
    return *space;
  std::fprintf(stderr, "weft: cannot allocate %zu bytes for attention\n",
               sizeof(BlockSpace));
  std::abort();
}

} // namespace detail

bool attentionReserveWorkspace() { return detail::findBlockSpace() != nullptr; }

} // namespace weft::rt
