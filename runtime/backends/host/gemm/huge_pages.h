// SPDX-License-Identifier: Apache-2.0

// Memory on huge pages where the system grants them: what is read with long
// strides would otherwise miss the TLB.

#ifndef WEFT_RT_GEMM_HUGE_PAGES_H
#define WEFT_RT_GEMM_HUGE_PAGES_H

#include <cstddef>
#include <cstdlib>
#include <memory>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft::rt::detail {

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};

/// What lies in memory of its own and is not constructed.
template <typename T> using HugePages = std::unique_ptr<T, FreeMemory>;

/// Memory for a T, of which nothing is set; null if there is none.
template <typename T> HugePages<T> allocateHugePages() {
  constexpr size_t hugePage = size_t(2) << 20;
  constexpr size_t bytes = (sizeof(T) + hugePage - 1) / hugePage * hugePage;
  void *memory = std::aligned_alloc(hugePage, bytes);
#ifdef __linux__
  // Only a wish: without huge pages the code is slower, not wrong.
  if (memory)
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return HugePages<T>(static_cast<T *>(memory));
}

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_HUGE_PAGES_H
