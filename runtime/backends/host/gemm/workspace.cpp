// SPDX-License-Identifier: Apache-2.0

// Owns one workspace per thread: packed panels are read with long strides.

#include "workspace.h"

#include "huge_pages.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::rt {
namespace detail {

static HugePages<Workspace> allocateWorkspace() {
  HugePages<Workspace> workspace = allocateHugePages<Workspace>();
  if (workspace)
    std::memset(static_cast<void *>(workspace.get()), 0,
                offsetof(Workspace, sums));
  return workspace;
}

/// The thread's workspace, or null.
static Workspace *findWorkspace() {
  thread_local HugePages<Workspace> workspace;
  if (!workspace)
    workspace = allocateWorkspace();
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
