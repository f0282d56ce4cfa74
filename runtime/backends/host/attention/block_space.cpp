// SPDX-License-Identifier: Apache-2.0

// Owns one space per thread.

#include "block_space.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft::rt {
namespace detail {

namespace {
struct Free {
  void operator()(BlockSpace *space) const { std::free(space); }
};
} // namespace

static BlockSpace *allocateBlockSpace() {
  constexpr size_t hugePage = size_t(2) << 20;
  size_t bytes = (sizeof(BlockSpace) + hugePage - 1) / hugePage * hugePage;
  void *memory = std::aligned_alloc(hugePage, bytes);
#ifdef __linux__
  // Only a wish: without huge pages the code is slower, not wrong.
  if (memory)
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<BlockSpace *>(memory);
}

/// The thread's space, or null.
static BlockSpace *findBlockSpace() {
  thread_local std::unique_ptr<BlockSpace, Free> space;
  if (!space)
    space.reset(allocateBlockSpace());
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
