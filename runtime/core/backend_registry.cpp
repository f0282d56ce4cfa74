// SPDX-License-Identifier: Apache-2.0

// A list under a lock, which only grows.

#include "core/backend_registry.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/stat.h>

namespace weft::rt {
namespace {

struct Registry {
  std::mutex lock;
  std::map<std::string, BackendEntry> backends;
};

Registry &registry() {
  static Registry instance;
  return instance;
}

Status cannotLoad(const std::string &path, const std::string &reason,
                  weft_rt_status code = WEFT_RT_INCOMPATIBLE) {
  return Status(code, "cannot load the backend " + quote(path.c_str()) + ": " +
                          reason);
}

Status checkLibrary(const std::string &path, const BackendLibrary &library) {
  if (library.version != backendVersion ||
      library.abiVersion != WEFT_RT_ABI_VERSION)
    return cannotLoad(
        path, format("it is made for version %u of backends and %u of the ABI, "
                     "and this runtime has %u and %u: build it again",
                     library.version, library.abiVersion, backendVersion,
                     WEFT_RT_ABI_VERSION));
  std::string compiler = library.compiler ? quote(library.compiler) : "unknown";
  if (compiler != quote(__VERSION__))
    return cannotLoad(path, "it comes from the compiler " + compiler +
                                ", and this runtime from " +
                                quote(__VERSION__));
  return Status();
}

} // namespace

Status registerBackend(const BackendEntry &entry) {
  if (!entry.name || !*entry.name)
    return invalid("the backend has no name");
  if (!entry.create)
    return invalid("the backend " + quote(entry.name) +
                   " has no function that creates it");
  std::lock_guard<std::mutex> guard(registry().lock);
  if (!registry().backends.emplace(entry.name, entry).second)
    return invalid("there is a backend " + quote(entry.name) + " already");
  return Status();
}

Status loadBackendLibrary(const std::string &path) {
  // A name without a slash would be looked up in the library path.
  char *real = realpath(path.c_str(), nullptr);
  if (!real)
    return ioError("cannot load the backend " + quote(path.c_str()) +
                   ": no such file");
  // The loader would wait for somebody to write to a FIFO.
  struct stat info;
  bool isRegular = stat(real, &info) == 0 && S_ISREG(info.st_mode);
  void *handle = isRegular ? dlopen(real, RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::free(real);
  if (!isRegular)
    return ioError("cannot load the backend " + quote(path.c_str()) +
                   ": it is not a regular file");
  if (!handle)
    return cannotLoad(path, dlerror());
  auto *library =
      static_cast<const BackendLibrary *>(dlsym(handle, "weft_rt_backend"));
  Status status = library ? checkLibrary(path, *library)
                          : cannotLoad(path, "it does not define "
                                             "weft_rt_backend");
  if (status.ok()) {
    status = registerBackend(library->entry);
    if (!status.ok())
      status = cannotLoad(path, status.message(), status.code());
  }
  if (!status.ok())
    dlclose(handle);
  return status;
}

Result<BackendEntry> findBackend(const std::string &name) {
  std::lock_guard<std::mutex> guard(registry().lock);
  auto it = registry().backends.find(name);
  if (it != registry().backends.end())
    return it->second;
  std::string known;
  for (const auto &[other, entry] : registry().backends)
    known += (known.empty() ? "" : ", ") + printable(other.c_str());
  return Status(WEFT_RT_INCOMPATIBLE, "unknown backend " + quote(name.c_str()) +
                                          ": expected " + known);
}

} // namespace weft::rt
