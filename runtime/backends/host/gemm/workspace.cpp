// SPDX-License-Identifier: Apache-2.0

// Owns one workspace per thread, on huge pages where the system grants them:
// packed panels are read with strides that would otherwise miss the TLB.

#include "workspace.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft::rt {
namespace detail {

namespace {
struct Free {
  void operator()(Workspace *workspace) const { std::free(workspace); }
};
} // namespace

static Workspace *allocateWorkspace() {
  constexpr size_t hugePage = size_t(2) << 20;
  size_t bytes = (sizeof(Workspace) + hugePage - 1) / hugePage * hugePage;
  void *memory = std::aligned_alloc(hugePage, bytes);
  if (!memory)
    return nullptr;
#ifdef __linux__
  // Only a wish: without huge pages the code is slower, not wrong.
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  std::memset(memory, 0, offsetof(Workspace, sums));
  return static_cast<Workspace *>(memory);
}

/// The thread's workspace, or null.
static Workspace *findWorkspace() {
  thread_local std::unique_ptr<Workspace, Free> workspace;
  if (!workspace)
    workspace.reset(allocateWorkspace());
  return workspace.get();
}

Workspace &threadWorkspace() {
  if (Workspace *workspace = findWorkspace())
    return *workspace;
  std::fprintf(stderr, "weft: cannot allocate %zu bytes for a gemm\n",
               sizeof(Workspace));
  std::abort();
}

} // namespace detail

bool gemmReserveWorkspace() { return detail::findWorkspace() != nullptr; }

} // namespace weft::rt
