// SPDX-License-Identifier: Apache-2.0

// A library is a list of file names, a table of functions, and what a person
// does who lacks it.

#include "backends/cuda/libraries.h"

#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <mutex>

namespace weft::rt::cuda {
namespace {

/// A library as its users know it.
struct Library {
  std::initializer_list<const char *> files; // tried in turn
  const char *what;
  const char *remedy;
};

const Library driverLibrary = {
    {"libcuda.so.1"},
    "the NVIDIA driver",
    "install the driver of this machine's GPU, or compile for the target host"};
const Library ncclLibrary = {
    {"libnccl.so.2"},
    "NCCL, by which ranks on several GPUs communicate",
    "install NCCL 2.18 or newer, or name its folder in LD_LIBRARY_PATH"};
const Library cublasLtLibrary = {
    {"libcublasLt.so.13", "libcublasLt.so.12"},
    "cuBLASLt, which computes contractions",
    "install CUDA's libcublas, or name its folder in LD_LIBRARY_PATH"};

const Library cudnnLibrary = {
    {"libcudnn.so.9"},
    "cuDNN, which computes attention",
    "install cuDNN 9.10 or newer, or name its folder in LD_LIBRARY_PATH"};

constexpr size_t oldestCudnn = 91000; // takes an infinity as a mask
constexpr int oldestNccl = 21800;     // its configurations know what is used

Result<void *> open(const Library &library) {
  for (const char *file : library.files)
    if (void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL))
      return handle;
  return Status(WEFT_RT_INCOMPATIBLE,
                format("backend 'cuda' does not find %s (%s): %s",
                       *library.files.begin(), library.what, library.remedy));
}

/// A function of an open library by name.
struct Finder {
  const Library &library;
  void *handle;
  Status failure;

  template <typename Function> void ifThere(Function &to, const char *name) {
    to = reinterpret_cast<Function>(dlsym(handle, name));
  }
  template <typename Function> void operator()(Function &to, const char *name) {
    ifThere(to, name);
    if (!to && failure.ok())
      failure = Status(WEFT_RT_INCOMPATIBLE,
                       format("backend 'cuda': %s (%s) has no function %s: it "
                              "is too old, update it",
                              *library.files.begin(), library.what, name));
  }
};

/// The table that `fill` makes of an open library; the first success is kept.
template <typename Api, typename Fill>
Result<const Api *> load(const Library &library, Fill fill) {
  static std::mutex lock;
  static Api api;
  static bool isLoaded = false;
  std::lock_guard<std::mutex> guard(lock);
  if (isLoaded)
    return &api;
  Result<void *> handle = open(library);
  if (!handle.ok())
    return handle.status();
  Finder find{library, *handle, Status()};
  fill(find, api);
  WEFT_RT_RETURN_IF_ERROR(find.failure);
  isLoaded = true;
  return &api;
}

/// "cuMemAlloc" of "cuMemAlloc_v2": the version is nothing to a person.
std::string plainName(const char *function) {
  std::string name = function;
  size_t length = name.size();
  bool isVersioned = length > 3 && name.compare(length - 3, 2, "_v") == 0;
  return isVersioned ? name.substr(0, length - 3) : name;
}

} // namespace

Result<const DriverApi *> loadDriver() {
  return load<DriverApi>(driverLibrary, [](Finder &find, DriverApi &api) {
#define WEFT_CUDA_FUNCTION(name, ...) find(api.name, #name);
#include "backends/cuda/driver_functions.def"
  });
}

Result<const NcclApi *> loadNccl() {
  Result<const NcclApi *> loaded =
      load<NcclApi>(ncclLibrary, [](Finder &find, NcclApi &api) {
#define WEFT_NCCL_FUNCTION(name, ...) find(api.name, #name);
#define WEFT_NCCL_OPTIONAL(name, ...) find.ifThere(api.name, #name);
#define WEFT_NCCL_TEXT(name, ...) find(api.name, #name);
#include "backends/cuda/nccl_functions.def"
      });
  if (!loaded.ok())
    return loaded;
  int version = 0;
  if (int result = (*loaded)->ncclGetVersion(&version))
    return ncclError(**loaded, "ncclGetVersion", result, nullptr);
  if (version < oldestNccl)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("backend 'cuda': NCCL is of version %d.%d, expected "
                         "2.18 or newer: update it",
                         version / 10000, version % 10000 / 100));
  return loaded;
}

Result<const CublasLtApi *> loadCublasLt() {
  return load<CublasLtApi>(cublasLtLibrary, [](Finder &find, CublasLtApi &api) {
#define WEFT_CUBLASLT_FUNCTION(name, ...) find(api.name, #name);
#include "backends/cuda/cublaslt_functions.def"
  });
}

Result<const CudnnApi *> loadCudnn() {
  Result<const CudnnApi *> loaded =
      load<CudnnApi>(cudnnLibrary, [](Finder &find, CudnnApi &api) {
#define WEFT_CUDNN_FUNCTION(name, ...) find(api.name, #name);
#define WEFT_CUDNN_NUMBER(name) find(api.name, #name);
#include "backends/cuda/cudnn_functions.def"
      });
  if (!loaded.ok())
    return loaded;
  if (size_t version = (*loaded)->cudnnGetVersion(); version < oldestCudnn)
    return Status(
        WEFT_RT_INCOMPATIBLE,
        format("backend 'cuda': cuDNN is of version %zu.%zu, expected "
               "9.10 or newer: update it",
               version / 10000, version % 10000 / 100));
  return loaded;
}

Status driverError(const DriverApi &api, const char *function, int result) {
  const char *name = nullptr, *text = nullptr;
  if (api.cuGetErrorName(result, &name) != driver::success || !name)
    name = "an error that the driver does not know";
  if (api.cuGetErrorString(result, &text) != driver::success || !text)
    text = "failed";
  return Status(result == driver::outOfMemory ? WEFT_RT_NO_MEMORY
                                              : WEFT_RT_INCOMPATIBLE,
                format("%s: %s (%s)", plainName(function).c_str(), text, name));
}

Status ncclError(const NcclApi &api, const char *function, int result,
                 ncclComm *communicator) {
  const char *text = api.ncclGetErrorString(result);
  const char *last = communicator ? api.ncclGetLastError(communicator) : "";
  std::string detail = last && *last ? std::string(": ") + last : "";
  return Status(
      WEFT_RT_INCOMPATIBLE,
      format("%s: %s%s", function, text ? text : "failed", detail.c_str()));
}

Status statusError(const char *function, int result) {
  return Status(WEFT_RT_INCOMPATIBLE,
                format("%s: failed with status %d", function, result));
}

Status within(const std::string &who, const Status &status) {
  return Status(status.code(), who + ": " + status.message());
}

} // namespace weft::rt::cuda
