// SPDX-License-Identifier: Apache-2.0

// The list, and nothing else.

#include "backends/backends.h"

#include "backends/cuda/cuda.h"
#include "backends/host/host.h"
#include "backends/null/null.h"
#include "core/backend_registry.h"

namespace weft::rt {

void registerBackendsOfThisBuild() {
  static const bool isDone = [] {
    for (const BackendEntry &entry :
         {BackendEntry{"host", createHostBackend},
          BackendEntry{"cuda", createCudaBackend, true},
          BackendEntry{"null", createNullBackend}})
      (void)registerBackend(entry); // fails only if somebody took the name
    return true;
  }();
  (void)isDone;
}

} // namespace weft::rt
