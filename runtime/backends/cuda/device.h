// SPDX-License-Identifier: Apache-2.0

// One GPU: its context, the kernels of the backend and of programs, and work on
// streams. All is looked up and loaded when it is made.

#ifndef WEFT_RT_CUDA_DEVICE_H
#define WEFT_RT_CUDA_DEVICE_H

#include "backends/cuda/kernel_args.h"
#include "backends/cuda/libraries.h"
#include "weft-rt/abi.h"

#include <map>
#include <memory>
#include <vector>

namespace weft::rt::cuda {

inline DevicePointer deviceAddress(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

/// Says whether buffers of several ranks can be combined this way: sum and prod
/// on numbers, max and min also on i1 and f8E8M0FNU, and and or on integers.
bool canCombine(weft_rt_type type, weft_rt_reduction reduction);

/// A GPU of this machine.
class Device {
public:
  static Result<std::unique_ptr<Device>> open(const DriverApi &api,
                                              int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// "GPU 0 (NVIDIA H100, sm_90)".
  std::string describe() const;
  /// The first number of sm_90.
  int capabilityMajor() const { return major; }

  /// Loads a program's images and finds its kernels, in the order of its table.
  Result<std::vector<CUfunc_st *>> load(const weft_rt_program &program);

  /// Loads some of the runtime's own kernels, which live as long as this.
  Status loadKernels(const char *what, const char *ptx,
                     const char *const *names, int count, CUfunc_st **to);

  /// Lets a kernel have so many bytes of dynamic shared memory.
  Status allowShared(CUfunc_st *kernel, int64_t bytes) const;

  // Work on a stream. The device's context is the thread's current one.
  Status copy(const CopyArgs &args, CUstream_st *stream) const;
  Status move(const MoveArgs &args, CUstream_st *stream) const;
  Status reduce(const ReduceArgs &args, CUstream_st *stream) const;

  const DriverApi &api;
  const int ordinal;
  CUctx_st *context = nullptr;
  DeviceUuid uuid = {};

private:
  Device(const DriverApi &api, int ordinal) : api(api), ordinal(ordinal) {}
  Status start();
  Result<CUmod_st *> loadModule(const std::string &what, const void *image);
  /// Loads the first form of an image that the GPU takes.
  Result<CUmod_st *> loadImage(const weft_rt_program &program, int32_t first);
  template <typename Args>
  Status launch(CUfunc_st *kernel, const Args &args, CUstream_st *stream) const;

  int major = 0, minor = 0;
  std::string name;
  std::vector<CUmod_st *> modules;
  std::map<const weft_rt_program *, std::vector<CUfunc_st *>> programs;
  CUfunc_st *copyKernel = nullptr, *moveKernel = nullptr,
            *reduceKernel = nullptr;
};

/// Makes a device's context the thread's current one for a while.
class CurrentContext {
public:
  explicit CurrentContext(const Device &device) : api(device.api) {
    isPushed = api.cuCtxPushCurrent_v2(device.context) == driver::success;
  }
  ~CurrentContext() {
    CUctx_st *popped = nullptr;
    if (isPushed)
      api.cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

private:
  const DriverApi &api;
  bool isPushed;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_DEVICE_H
