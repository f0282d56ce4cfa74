// SPDX-License-Identifier: Apache-2.0

// The stand-in for libcuda.so.1.

#include "emulated.h"
#include "image.h"
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using weft::rt::cuda::DevicePointer;
namespace driver = weft::rt::cuda::driver;

struct CUctx_st {
  int device;
};
struct CUfunc_st {
  emulated::Kernel kernel;
};
struct CUmod_st {
  std::unique_ptr<emulated::Image> image;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

extern "C" int emulatedError(const char *function) {
  const char *given = std::getenv("EMULATED_GPU_ERROR");
  if (!given)
    return 0;
  static std::mutex lock;
  static int64_t calls = 0;
  std::string text = given;
  size_t colon = text.find(':'), second = text.find(':', colon + 1);
  if (text.substr(0, colon) != function)
    return 0;
  std::lock_guard<std::mutex> guard(lock);
  return ++calls == std::atoll(text.c_str() + colon + 1)
             ? std::atoi(text.c_str() + second + 1)
             : 0;
}

extern "C" int emulatedEnqueue(CUstream_st *stream, void (*work)(void *),
                               void *context, void (*destroy)(void *)) {
  std::shared_ptr<void> kept(context, destroy);
  if (!stream)
    return emulated::refuseLegacy();
  return stream->submit([work, kept] { work(kept.get()); });
}

extern "C" bool emulatedIsCaptured(CUstream_st *stream) {
  return stream && stream->isCapturing();
}

extern "C" void emulatedUuid(int device, char *uuid) {
  static const int64_t first = emulated::setting("EMULATED_GPU_FIRST", 0);
  std::memset(uuid, 0, 16);
  int64_t number = first + device;
  std::memcpy(uuid, &number, sizeof(number));
}

namespace {

constexpr int invalidValue = 1, invalidContext = 201;

struct Memory {
  std::mutex lock;
  std::map<DevicePointer, size_t> blocks; // by address
  std::map<DevicePointer, int> devices;
  std::map<int, int64_t> used;            // by device
  std::map<DevicePointer, size_t> pinned; // of the host, by address
};

Memory &memory() {
  static Memory *all = new Memory; // threads may outlive destructors
  return *all;
}

/// As many as CUDA_VISIBLE_DEVICES lists, if it does.
int visibleDevices(int count) {
  const char *list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list)
    return count;
  std::string text = list;
  auto listed = 1 + int(std::count(text.begin(), text.end(), ','));
  return text.empty() ? 0 : std::min(count, listed);
}

int deviceCount() {
  static const int count =
      visibleDevices(int(emulated::setting("EMULATED_GPUS", 1)));
  return count;
}

int64_t deviceBytes() {
  static const int64_t bytes =
      emulated::setting("EMULATED_GPU_MEMORY", int64_t(1) << 30);
  return bytes;
}

thread_local std::vector<CUctx_st *> contexts;

CUctx_st *contextOf(int device) {
  static std::vector<CUctx_st> all = [] {
    std::vector<CUctx_st> made;
    for (int i = 0; i < deviceCount(); ++i)
      made.push_back({i});
    return made;
  }();
  return &all[device];
}

/// Says whether a range lies in one block of device memory.
bool isWithin(const std::map<DevicePointer, size_t> &blocks,
              DevicePointer begin, size_t bytes) {
  std::lock_guard<std::mutex> guard(memory().lock);
  auto after = blocks.upper_bound(begin);
  if (after == blocks.begin())
    return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

bool isDeviceMemory(DevicePointer begin, size_t bytes) {
  return isWithin(memory().blocks, begin, bytes);
}

/// What a device's own copies reach.
bool isReachable(DevicePointer begin, size_t bytes) {
  return isDeviceMemory(begin, bytes) ||
         isWithin(memory().pinned, begin, bytes);
}

void *hostAddress(DevicePointer address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

/// Counts calls that have a mutant, from 1.
bool isTheOne(std::atomic<int64_t> &count, const char *name) {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  return ++count == emulated::setting(name, 0);
}

} // namespace

extern "C" int emulatedDevice() {
  return contexts.empty() ? -1 : contexts.back()->device;
}

#define FAIL_IF_UNSAFE()                                                       \
  do {                                                                         \
    if (int refused_ = emulated::refuseUnsafe())                               \
      return refused_;                                                         \
  } while (false)
#define FAIL_IF_LEGACY(stream)                                                 \
  do {                                                                         \
    if (!(stream))                                                             \
      return emulated::refuseLegacy();                                         \
  } while (false)
extern "C" {

int cuInit(unsigned) {
  FAIL_IF_TOLD();
  return deviceCount() > 0 ? driver::success : driver::noDevice;
}

int cuDriverGetVersion(int *version) {
  FAIL_IF_TOLD();
  *version = int(emulated::setting("EMULATED_GPU_DRIVER", 13000));
  return 0;
}

int cuGetErrorName(int result, const char **name) {
  switch (result) {
  case driver::outOfMemory:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return 0;
  case driver::noBinaryForGpu:
    *name = "CUDA_ERROR_NO_BINARY_FOR_GPU";
    return 0;
  case 719:
    *name = "CUDA_ERROR_LAUNCH_FAILED";
    return 0;
  default:
    *name = "CUDA_ERROR_INVALID_VALUE";
    return result == invalidValue ? 0 : invalidValue;
  }
}

int cuGetErrorString(int result, const char **text) {
  *text = result == driver::outOfMemory ? "out of memory"
                                        : "the stand-in was told to fail";
  return 0;
}

int cuDeviceGetCount(int *count) {
  FAIL_IF_TOLD();
  *count = deviceCount();
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  FAIL_IF_TOLD();
  *device = ordinal;
  return ordinal >= 0 && ordinal < deviceCount() ? 0 : invalidValue;
}

int cuDeviceGetName(char *name, int length, int) {
  FAIL_IF_TOLD();
  std::strncpy(name, "emulated", size_t(length));
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  FAIL_IF_TOLD();
  *value = attribute == driver::capabilityMajor ? 9 : 0;
  return 0;
}

int cuDeviceGetUuid_v2(weft::rt::cuda::DeviceUuid *uuid, int device) {
  FAIL_IF_TOLD();
  emulatedUuid(device, uuid->bytes);
  return 0;
}

int cuDevicePrimaryCtxRetain(CUctx_st **context, int device) {
  FAIL_IF_TOLD();
  *context = contextOf(device);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuCtxPushCurrent_v2(CUctx_st *context) {
  contexts.push_back(context);
  return 0;
}

int cuCtxPopCurrent_v2(CUctx_st **context) {
  if (contexts.empty())
    return invalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  FAIL_IF_TOLD();
  if (contexts.empty())
    return invalidContext;
  Memory &all = memory();
  std::lock_guard<std::mutex> guard(all.lock);
  *total = size_t(deviceBytes());
  *free = size_t(deviceBytes() - all.used[contexts.back()->device]);
  return 0;
}

int cuMemAlloc_v2(DevicePointer *address, size_t bytes) {
  FAIL_IF_TOLD();
  FAIL_IF_UNSAFE();
  if (contexts.empty())
    return invalidContext;
  if (bytes == 0)
    return invalidValue;
  int device = contexts.back()->device;
  Memory &all = memory();
  std::lock_guard<std::mutex> guard(all.lock);
  if (all.used[device] + int64_t(bytes) > deviceBytes())
    return driver::outOfMemory;
  void *block = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(block, 0xff, bytes);
  *address = uintptr_t(block);
  all.blocks[*address] = bytes;
  all.devices[*address] = device;
  all.used[device] += int64_t(bytes);
  return 0;
}

int cuMemFree_v2(DevicePointer address) {
  FAIL_IF_TOLD();
  FAIL_IF_UNSAFE();
  Memory &all = memory();
  std::lock_guard<std::mutex> guard(all.lock);
  auto block = all.blocks.find(address);
  if (block == all.blocks.end())
    return invalidValue;
  all.used[all.devices[address]] -= int64_t(block->second);
  all.blocks.erase(block);
  std::free(hostAddress(address));
  return 0;
}

int cuMemAllocHost_v2(void **address, size_t bytes) {
  FAIL_IF_TOLD();
  FAIL_IF_UNSAFE();
  *address = std::malloc(bytes);
  Memory &all = memory();
  std::lock_guard<std::mutex> guard(all.lock);
  all.pinned[reinterpret_cast<uintptr_t>(*address)] = bytes;
  return 0;
}

int cuMemFreeHost(void *address) {
  FAIL_IF_UNSAFE();
  Memory &all = memory();
  std::lock_guard<std::mutex> guard(all.lock);
  all.pinned.erase(reinterpret_cast<uintptr_t>(address));
  std::free(address);
  return 0;
}

int cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes,
                         CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (!isDeviceMemory(to, bytes))
    return invalidValue;
  return stream->submit([=] { std::memcpy(hostAddress(to), from, bytes); });
}

int cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes,
                         CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (!isDeviceMemory(from, bytes))
    return invalidValue;
  return stream->submit([=] {
    // The CPU may look at a word while a device writes it.
    if (bytes == sizeof(int64_t) && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
      int64_t word;
      std::memcpy(&word, hostAddress(from), sizeof(word));
      __atomic_store_n(static_cast<int64_t *>(to), word, __ATOMIC_RELEASE);
    } else {
      std::memcpy(to, hostAddress(from), bytes);
    }
  });
}

int cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes,
                  CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (!isReachable(to, bytes) || !isReachable(from, bytes))
    return invalidValue;
  return stream->submit(
      [=] { std::memmove(hostAddress(to), hostAddress(from), bytes); });
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                         CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (!isDeviceMemory(to, bytes) || !isDeviceMemory(from, bytes))
    return invalidValue;
  return stream->submit(
      [=] { std::memmove(hostAddress(to), hostAddress(from), bytes); });
}

int cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes,
                    CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (!isDeviceMemory(to, bytes))
    return invalidValue;
  return stream->submit([=] { std::memset(hostAddress(to), value, bytes); });
}

int cuStreamCreate(CUstream_st **stream, unsigned) {
  FAIL_IF_TOLD();
  if (contexts.empty())
    return invalidContext;
  *stream = new CUstream_st;
  return 0;
}

int cuStreamDestroy_v2(CUstream_st *stream) {
  delete stream;
  return 0;
}

int cuStreamQuery(CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  return stream->query();
}

int cuStreamWaitEvent(CUstream_st *stream, CUevent_st *event, unsigned) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  static std::atomic<int64_t> calls{0};
  return isTheOne(calls, "EMULATED_GPU_DROP_WAIT") ? 0 : stream->wait(*event);
}

int cuStreamBeginCapture_v2(CUstream_st *stream, int mode) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  return stream->beginCapture(mode);
}

int cuStreamEndCapture(CUstream_st *stream, CUgraph_st **graph) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  return stream->endCapture(graph);
}

int cuGraphInstantiateWithFlags(CUgraphExec_st **made, CUgraph_st *graph,
                                unsigned long long) {
  FAIL_IF_TOLD();
  *made = new CUgraphExec_st{std::make_shared<const CUgraph_st>(*graph)};
  return 0;
}

int cuGraphLaunch(CUgraphExec_st *graph, CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (stream->isCapturing())
    return emulated::captureUnsupported; // a graph in a graph: not needed
  stream->launch(graph->graph);
  return 0;
}

int cuGraphDestroy(CUgraph_st *graph) {
  delete graph;
  return 0;
}

int cuGraphExecDestroy(CUgraphExec_st *graph) {
  delete graph;
  return 0;
}

int cuEventCreate(CUevent_st **event, unsigned) {
  FAIL_IF_TOLD();
  *event = new CUevent_st;
  return 0;
}

int cuEventDestroy_v2(CUevent_st *event) {
  delete event;
  return 0;
}

int cuEventRecord(CUevent_st *event, CUstream_st *stream) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  return stream->record(*event);
}

int cuEventQuery(CUevent_st *event) {
  FAIL_IF_TOLD();
  return event->query();
}

int cuModuleLoadDataEx(CUmod_st **module, const void *data, unsigned, int *,
                       void **) {
  FAIL_IF_TOLD();
  FAIL_IF_UNSAFE();
  if (emulated::Image::isForGpu(data))
    return driver::noBinaryForGpu;
  std::unique_ptr<emulated::Image> image = emulated::Image::load(data);
  if (!image)
    return driver::invalidImage;
  *module = new CUmod_st{std::move(image), {}};
  return 0;
}

int cuModuleUnload(CUmod_st *module) {
  delete module;
  return 0;
}

int cuModuleGetFunction(CUfunc_st **function, CUmod_st *module,
                        const char *name) {
  FAIL_IF_TOLD();
  std::optional<emulated::Kernel> kernel = module->image->find(name);
  if (!kernel)
    return driver::notFound;
  module->functions.push_back(
      std::make_unique<CUfunc_st>(CUfunc_st{std::move(*kernel)}));
  *function = module->functions.back().get();
  return 0;
}

int cuFuncSetAttribute(CUfunc_st *, int, int) {
  FAIL_IF_TOLD();
  return 0;
}

int cuLaunchKernel(CUfunc_st *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared, CUstream_st *stream,
                   void **params, void **) {
  FAIL_IF_TOLD();
  FAIL_IF_LEGACY(stream);
  if (gridX == 0 || blockX == 0 || blockX > 1024)
    return invalidValue;
  static std::atomic<int64_t> calls{0};
  if (isTheOne(calls, "EMULATED_GPU_HANG")) {
    auto never = std::make_shared<CUevent_st::Mark>();
    (void)stream->submit([never] { never->await(); });
  }
  const emulated::Kernel &kernel = function->kernel;
  struct Launch {
    emulated::KernelCode code;
    uint32_t grid[3], block[3], shared;
    std::vector<std::vector<uint64_t>> values;
    void run(void **given) {
      static std::mutex oneAtATime;
      std::lock_guard<std::mutex> guard(oneAtATime);
      code(given, grid, block, shared);
      std::this_thread::sleep_for(std::chrono::milliseconds(
          emulated::setting("EMULATED_GPU_KERNEL", 0)));
    }
  };
  auto launch = std::make_shared<Launch>(Launch{kernel.code,
                                                {gridX, gridY, gridZ},
                                                {blockX, blockY, blockZ},
                                                shared,
                                                {}});
  if (!kernel.paramBytes) {
    if (stream->isCapturing())
      return emulated::captureUnsupported;
    while (!stream->isIdle())
      std::this_thread::yield();
    launch->run(params);
    return 0;
  }
  for (size_t i = 0; i < kernel.paramBytes->size(); ++i) {
    uint32_t bytes = (*kernel.paramBytes)[i];
    launch->values.emplace_back((bytes + 7) / 8);
    std::memcpy(launch->values.back().data(), params[i], bytes);
  }
  return stream->submit([launch] {
    std::vector<void *> addresses;
    for (auto &value : launch->values)
      addresses.push_back(value.data());
    launch->run(addresses.data());
  });
}

} // extern "C"
