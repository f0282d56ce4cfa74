// SPDX-License-Identifier: Apache-2.0

// Communicators do not block: a call that is in progress is asked for until it
// is done, so that the watchdog can abort it.

#include "backends/cuda/nccl_group.h"

#include "backends/cuda/nccl_transfer.h"
#include "backends/cuda/polling.h"

namespace weft::rt::cuda {
namespace {

constexpr int64_t never = INT64_MAX;

NcclConfig configNamed(const std::string &name) {
  constexpr int open = nccl::undefined;
  return {sizeof(NcclConfig),
          nccl::configMagic,
          nccl::configVersion,
          /*blocking=*/0,
          open,
          open,
          open,
          nullptr,
          open,
          open,
          name.c_str(),
          open,
          open,
          open,
          open,
          open,
          open};
}

} // namespace

NcclGroup::NcclGroup(const NcclApi &api, const NcclGroupOptions &options,
                     int64_t locals)
    : Group(options.ranks, options.channel, locals), api(api),
      name(options.channel), job(options.job),
      deadlineSeconds(options.deadlineSeconds) {}

NcclGroup::~NcclGroup() {
  for (auto &end : ends) {
    if (!end)
      continue;
    CurrentContext current(*end->device);
    if (end->communicator)
      api.ncclCommDestroy(end->communicator);
    for (void *block : end->blocks)
      end->device->api.cuMemFree_v2(deviceAddress(block));
    if (end->stream)
      end->device->api.cuStreamDestroy_v2(end->stream);
  }
}

Result<std::unique_ptr<Group>>
NcclGroup::create(const NcclApi &api, const NcclGroupOptions &options) {
  int64_t locals = 0;
  for (const Device *device : options.devices)
    locals += device ? 1 : 0;
  std::unique_ptr<NcclGroup> group(new NcclGroup(api, options, locals));
  WEFT_RT_RETURN_IF_ERROR(group->open(options));
  return std::unique_ptr<Group>(std::move(group));
}

Status NcclGroup::open(const NcclGroupOptions &options) {
  for (const Device *device : options.devices) {
    ends.push_back(device ? std::make_unique<Member>() : nullptr);
    if (!device)
      continue;
    Member &end = *ends.back();
    end.device = device;
    CurrentContext current(*device);
    WEFT_CUDA_CALL(device->api, cuStreamCreate, &end.stream,
                   driver::streamNonBlocking);
    WEFT_RT_RETURN_IF_ERROR(provideScratch(end, options.scratch));
  }
  Status status = connect(options);
  return status.ok() ? status : within("channel " + quote(name), status);
}

Status NcclGroup::connect(const NcclGroupOptions &options) {
  int64_t deadline = nanosecondsNow() + int64_t(options.deadlineSeconds * 1e9);
  Status status;
  auto check = [&](const char *function, int result) {
    if (status.ok() && result != nccl::success && result != nccl::inProgress)
      status = ncclError(api, function, result, nullptr);
  };
  check("ncclGroupStart", api.ncclGroupStart());
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i])
      continue;
    CurrentContext current(*ends[i]->device);
    NcclConfig config = configNamed(name);
    check("ncclCommInitRankConfig",
          api.ncclCommInitRankConfig(&ends[i]->communicator, int(ends.size()),
                                     options.id, int(i), &config));
  }
  check("ncclGroupEnd", api.ncclGroupEnd());
  for (size_t i = 0; i < ends.size() && status.ok(); ++i)
    if (ends[i])
      status = settle(*ends[i], deadline);
  return status;
}

/// Returns when the communicator has done what it was asked for.
Status NcclGroup::settle(Member &member, int64_t deadline) {
  for (Pause pause; true; pause.sleep()) {
    std::lock_guard<std::mutex> guard(member.lock);
    if (isBroken || (job && job->hasFailed()))
      return Status(WEFT_RT_RANK_FAILED, "");
    int state = nccl::success;
    int result = api.ncclCommGetAsyncError(member.communicator, &state);
    result = result ? result : state;
    if (result == nccl::success)
      return Status();
    if (result != nccl::inProgress)
      return ncclError(api, "ncclCommGetAsyncError", result,
                       member.communicator);
    if (nanosecondsNow() > deadline)
      return Status(WEFT_RT_RANK_FAILED,
                    "NCCL did not connect the GPUs within the deadline");
  }
}

/// Blocks that are too small stay, as the device may still use them.
Status NcclGroup::provideScratch(Member &member, int64_t bytes) {
  if (bytes <= member.scratchBytes)
    return Status();
  DevicePointer place = 0;
  WEFT_CUDA_CALL(member.device->api, cuMemAlloc_v2, &place, size_t(bytes));
  member.blocks.push_back(reinterpret_cast<void *>(place));
  member.scratchBytes = bytes;
  return Status();
}

Status NcclGroup::tryRegister(Member &end, void *base, int64_t bytes) {
  if (!api.ncclCommRegister || !api.ncclCommDeregister)
    return Status(WEFT_RT_INCOMPATIBLE,
                  "NCCL has no ncclCommRegister, which --register-buffers asks "
                  "for: update it to 2.19 or newer");
  {
    std::lock_guard<std::mutex> guard(end.lock);
    if (isBroken)
      return Status(WEFT_RT_RANK_FAILED, "");
    CurrentContext current(*end.device);
    int result = api.ncclCommRegister(end.communicator, base, size_t(bytes),
                                      &end.registered);
    if (result != nccl::success && result != nccl::inProgress)
      return ncclError(api, "ncclCommRegister", result, end.communicator);
  }
  return settle(end, nanosecondsNow() + int64_t(deadlineSeconds * 1e9));
}

Status NcclGroup::registerMemory(int64_t index, void *base, int64_t bytes) {
  if (bytes == 0)
    return Status();
  Status status = tryRegister(*ends[size_t(index)], base, bytes);
  return status.ok() ? status : within("channel " + quote(name), status);
}

/// A communicator that was aborted has no registrations left.
void NcclGroup::deregisterMemory() {
  for (auto &end : ends) {
    if (!end || !end->registered)
      continue;
    std::lock_guard<std::mutex> guard(end->lock);
    CurrentContext current(*end->device);
    if (end->communicator)
      api.ncclCommDeregister(end->communicator, end->registered);
    end->registered = nullptr;
  }
}

Status NcclGroup::enqueue(int64_t index, int64_t, const Contribution &what,
                          bool) {
  Member &end = *ends[index];
  const DriverApi &driverApi = end.device->api;
  WEFT_RT_RETURN_IF_ERROR(
      provideScratch(end, scratchBytes(*what.collective, size())));
  WEFT_CUDA_CALL(driverApi, cuStreamWaitEvent, end.stream, what.input, 0);
  void *scratch = end.blocks.empty() ? nullptr : end.blocks.back();
  NcclTransfer transfer(*what.collective, size(), index, what.in, what.out,
                        scratch);
  WEFT_RT_RETURN_IF_ERROR(transfer.before(*end.device, end.stream));
  {
    std::lock_guard<std::mutex> guard(end.lock);
    if (isBroken)
      return Status(WEFT_RT_RANK_FAILED, "");
    WEFT_RT_RETURN_IF_ERROR(
        transfer.exchange(api, end.communicator, end.stream));
  }
  WEFT_RT_RETURN_IF_ERROR(settle(end, never));
  WEFT_RT_RETURN_IF_ERROR(transfer.after(*end.device, end.stream));
  WEFT_CUDA_CALL(driverApi, cuEventRecord, what.done, end.stream);
  return Status();
}

Status NcclGroup::capture(int64_t index, const Contribution &what) {
  return enqueue(index, -1, what, /*isLast=*/false);
}

Status NcclGroup::health() {
  for (auto &end : ends) {
    if (!end || isBroken)
      continue;
    std::lock_guard<std::mutex> guard(end->lock);
    int state = nccl::success;
    int result = end->communicator
                     ? api.ncclCommGetAsyncError(end->communicator, &state)
                     : nccl::success;
    result = result ? result : state;
    if (result != nccl::success && result != nccl::inProgress)
      return within(
          "channel " + quote(name),
          ncclError(api, "ncclCommGetAsyncError", result, end->communicator));
  }
  return Status();
}

void NcclGroup::breakUp() {
  Group::breakUp();
  if (isBroken.exchange(true))
    return;
  for (auto &end : ends) {
    if (!end)
      continue;
    std::lock_guard<std::mutex> guard(end->lock);
    CurrentContext current(*end->device);
    if (end->communicator)
      api.ncclCommAbort(end->communicator);
    end->communicator = nullptr;
  }
}

} // namespace weft::rt::cuda
