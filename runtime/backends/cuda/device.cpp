// SPDX-License-Identifier: Apache-2.0

// The primary context is used, as NCCL and cuBLASLt do, so that memory and
// streams are theirs as well.

#include "backends/cuda/device.h"

#include "core/status.h"

#include <algorithm>
#include <cstring>

namespace weft::rt::cuda {
namespace {

constexpr char kernelsPtx[] =
#include "backends/cuda/kernels_ptx.inc"
    ;

constexpr int64_t threadsPerBlock = 256, mostBlocks = 1 << 16;

/// What a person does about an image that the driver refuses.
const char *remedyFor(int result) {
  switch (result) {
  case driver::noBinaryForGpu:
  case driver::invalidImage:
    return ": it was compiled for another GPU; compile it for this one "
           "(weft-compile --target cuda:sm_..)";
  case driver::unsupportedPtxVersion:
    return ": its PTX is newer than the driver; update the driver";
  default:
    return "";
  }
}

/// Says whether an image is the same code as the one before it.
bool isForm(const weft_rt_image &image, const weft_rt_image &before) {
  return std::strcmp(image.name, before.name) == 0;
}

} // namespace

bool canCombine(weft_rt_type type, weft_rt_reduction reduction) {
  bool isOrder = reduction == WEFT_RT_MAX || reduction == WEFT_RT_MIN;
  bool isBitwise = reduction == WEFT_RT_AND || reduction == WEFT_RT_OR;
  switch (type) {
  case WEFT_RT_I1:
    return isOrder || isBitwise;
  case WEFT_RT_F8E8M0FNU:
    return isOrder;
  case WEFT_RT_F16:
  case WEFT_RT_BF16:
  case WEFT_RT_F32:
  case WEFT_RT_F64:
  case WEFT_RT_F8E4M3FN:
  case WEFT_RT_F8E5M2:
    return !isBitwise;
  default:
    return type >= WEFT_RT_I8 && type <= WEFT_RT_U64;
  }
}

Result<std::unique_ptr<Device>> Device::open(const DriverApi &api,
                                             int ordinal) {
  std::unique_ptr<Device> device(new Device(api, ordinal));
  WEFT_RT_RETURN_IF_ERROR(device->start());
  return device;
}

Device::~Device() {
  if (!context)
    return;
  {
    CurrentContext current(*this);
    for (CUmod_st *module : modules)
      api.cuModuleUnload(module);
  }
  api.cuDevicePrimaryCtxRelease_v2(ordinal);
}

Status Device::start() {
  int handle = 0;
  WEFT_CUDA_CALL(api, cuDeviceGet, &handle, ordinal);
  char text[256] = "";
  WEFT_CUDA_CALL(api, cuDeviceGetName, text, int(sizeof(text)) - 1, handle);
  name = text;
  WEFT_CUDA_CALL(api, cuDeviceGetUuid_v2, &uuid, handle);
  WEFT_CUDA_CALL(api, cuDeviceGetAttribute, &major, driver::capabilityMajor,
                 handle);
  WEFT_CUDA_CALL(api, cuDeviceGetAttribute, &minor, driver::capabilityMinor,
                 handle);
  WEFT_CUDA_CALL(api, cuDevicePrimaryCtxRetain, &context, handle);
  CurrentContext current(*this);
  constexpr const char *names[] = {"weft_copy", "weft_move", "weft_reduce"};
  CUfunc_st *found[3];
  WEFT_RT_RETURN_IF_ERROR(
      loadKernels("the runtime's kernels", kernelsPtx, names, 3, found));
  copyKernel = found[0];
  moveKernel = found[1];
  reduceKernel = found[2];
  return Status();
}

std::string Device::describe() const {
  return format("GPU %d (%s, sm_%d%d)", ordinal, name.c_str(), major, minor);
}

Result<CUmod_st *> Device::loadModule(const std::string &what,
                                      const void *image) {
  CUmod_st *module = nullptr;
  if (int result =
          api.cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr)) {
    Status error = driverError(api, "cuModuleLoadDataEx", result);
    return Status(error.code(),
                  format("cannot load %s on %s: %s%s", what.c_str(),
                         describe().c_str(), error.message().c_str(),
                         remedyFor(result)));
  }
  modules.push_back(module);
  return module;
}

Status Device::loadKernels(const char *what, const char *ptx,
                           const char *const *names, int count,
                           CUfunc_st **to) {
  Result<CUmod_st *> module = loadModule(what, ptx);
  if (!module.ok())
    return module.status();
  for (int i = 0; i < count; ++i)
    WEFT_CUDA_CALL(api, cuModuleGetFunction, &to[i], *module, names[i]);
  return Status();
}

Result<CUmod_st *> Device::loadImage(const weft_rt_program &program,
                                     int32_t first) {
  const weft_rt_image *image = &program.images[first];
  const weft_rt_image *end = program.images + program.num_images;
  while (true) {
    // PTX is a string, which ends in 0; a cubin does not mind.
    std::string data(reinterpret_cast<const char *>(image->data),
                     size_t(image->size));
    Result<CUmod_st *> module =
        loadModule("the image " + quote(image->name), data.c_str());
    // A cubin is for its own architecture, and may be newer than the driver.
    if (module.ok() || ++image == end || !isForm(*image, *(image - 1)))
      return module;
  }
}

Result<std::vector<CUfunc_st *>> Device::load(const weft_rt_program &program) {
  auto known = programs.find(&program);
  if (known != programs.end())
    return known->second;
  CurrentContext current(*this);
  std::vector<CUmod_st *> images(program.num_images, nullptr);
  std::vector<CUfunc_st *> kernels(program.num_kernels, nullptr);
  for (int32_t i = 0; i < program.num_kernels; ++i) {
    const weft_rt_kernel_entry &entry = program.kernels[i];
    if (entry.image < 0)
      return Status(WEFT_RT_INCOMPATIBLE,
                    format("program %s, which is for the backend %s, cannot "
                           "run on a GPU: its kernel %s is in no image",
                           quote(program.name).c_str(),
                           quote(program.backend).c_str(),
                           quote(entry.name).c_str()));
    CUmod_st *&image = images[entry.image];
    if (!image) {
      Result<CUmod_st *> module = loadImage(program, entry.image);
      if (!module.ok())
        return module.status();
      image = *module;
    }
    int result = api.cuModuleGetFunction(&kernels[i], image, entry.name);
    if (result != driver::success)
      return within("kernel " + quote(entry.name),
                    driverError(api, "cuModuleGetFunction", result));
  }
  programs[&program] = kernels;
  return kernels;
}

Status Device::allowShared(CUfunc_st *kernel, int64_t bytes) const {
  WEFT_CUDA_CALL(api, cuFuncSetAttribute, kernel, driver::maxDynamicSharedBytes,
                 int(bytes));
  return Status();
}

// ---- the backend's own kernels ---------------------------------------------

template <typename Args>
Status Device::launch(CUfunc_st *kernel, const Args &args,
                      CUstream_st *stream) const {
  if (args.count == 0)
    return Status();
  int64_t blocks = std::min(mostBlocks, (args.count + threadsPerBlock - 1) /
                                            threadsPerBlock);
  void *params[] = {const_cast<Args *>(&args)};
  WEFT_CUDA_CALL(api, cuLaunchKernel, kernel, unsigned(blocks), 1, 1,
                 unsigned(threadsPerBlock), 1, 1, 0, stream, params, nullptr);
  return Status();
}

Status Device::copy(const CopyArgs &args, CUstream_st *stream) const {
  return launch(copyKernel, args, stream);
}

Status Device::move(const MoveArgs &args, CUstream_st *stream) const {
  auto isOneRun = [&](int64_t run, int64_t stride) {
    return run == stride || run >= args.count;
  };
  if (args.count == 0 || !isOneRun(args.sourceRun, args.sourceStride) ||
      !isOneRun(args.targetRun, args.targetStride))
    return launch(moveKernel, args, stream);
  WEFT_CUDA_CALL(api, cuMemcpyDtoDAsync_v2, deviceAddress(args.target),
                 deviceAddress(args.source), size_t(args.count * args.unit),
                 stream);
  return Status();
}

Status Device::reduce(const ReduceArgs &args, CUstream_st *stream) const {
  return launch(reduceKernel, args, stream);
}

} // namespace weft::rt::cuda
