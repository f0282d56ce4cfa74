// SPDX-License-Identifier: Apache-2.0

// Backends by name: those of this build (backends/backends.h), and others from
// shared libraries.

#ifndef WEFT_RT_CORE_BACKEND_REGISTRY_H
#define WEFT_RT_CORE_BACKEND_REGISTRY_H

#include "core/backend.h"

namespace weft::rt {

/// A backend's name and how its ranks are made. Creating fails if the options'
/// programs cannot run there.
struct BackendEntry {
  const char *name;
  Result<std::unique_ptr<Backend>> (*create)(const BackendOptions &options);
  bool spansProcesses = false; // ranks may be in several
};

/// Raised whenever backend.h, or what it includes, changes.
constexpr uint32_t backendVersion = 4;

/// What a shared library exports as `weft_rt_backend`. C++ objects cross the
/// border, so that it must come from the same compiler as this runtime.
struct BackendLibrary {
  uint32_t version = backendVersion;
  uint32_t abiVersion = WEFT_RT_ABI_VERSION;
  const char *compiler = __VERSION__;
  BackendEntry entry;
};

/// Makes a backend known; fails if there is one of that name.
Status registerBackend(const BackendEntry &entry);

/// Loads a shared library, which runs its code, and makes its backend known.
/// It stays loaded.
Status loadBackendLibrary(const std::string &path);

/// The backend of that name; the failure names those that there are.
Result<BackendEntry> findBackend(const std::string &name);

} // namespace weft::rt

#endif // WEFT_RT_CORE_BACKEND_REGISTRY_H
