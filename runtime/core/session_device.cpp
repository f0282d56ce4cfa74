// SPDX-License-Identifier: Apache-2.0

// Arguments and results that stay on the device where the ranks are.

#include "core/session.h"
#include "core/types.h"

#include <algorithm>

namespace weft::rt {
namespace {

std::string placeName(int32_t device) {
  return device < 0 ? "in the CPU's memory" : format("on device %d", device);
}

/// Says whether a rank has the whole tensor, and nothing but it.
bool isWhole(const Region &region) {
  return region.localShape == region.globalShape &&
         region.extent == region.globalShape;
}

} // namespace

Result<void *> Session::deviceStream(int32_t device) const {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  for (const RankMemory &own : memory)
    if (device >= 0 && backend->deviceNumber(own.rank) == device)
      return backend->deviceStream(own.rank);
  return invalid(format("none of the program's ranks is on device %d", device));
}

Status Session::setArgumentOnDevice(int32_t index, int32_t device,
                                    const void *data, int64_t bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  WEFT_RT_RETURN_IF_ERROR(checkArgument(index, bytes));
  const weft_rt_tensor &tensor = program().args[index];
  if (!hasWholeBytes(tensor.type))
    return invalid(format("argument %s has elements of less than a byte, which "
                          "are taken from the CPU's memory alone",
                          quote(tensor.name).c_str()));
  for (const RankMemory &own : memory)
    if (int32_t other = backend->deviceNumber(own.rank);
        other != device || device < 0)
      return invalid(format("argument %s is on device %d, and rank %lld %s: "
                            "pass it in the CPU's memory",
                            quote(tensor.name).c_str(), device,
                            (long long)own.rank, placeName(other).c_str()));
  std::vector<Shard> shards;
  WEFT_RT_RETURN_IF_ERROR(shardsToTake(index, shards));
  isSet[index] = true;
  return note(backend->uploadOnDevice(tensor.type, shards, data));
}

Status Session::findResultOnDevice(int32_t index, int32_t &device,
                                   void *&data) const {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  WEFT_RT_RETURN_IF_ERROR(checkResult(index));
  const weft_rt_tensor &tensor = program().results[index];
  if (!memory.empty() && memory.front().layout.resultsOnHost[index])
    return invalid(format("result %s lies in the host's memory: get it in the "
                          "CPU's memory",
                          quote(tensor.name).c_str()));
  for (const RankMemory &own : memory) {
    device = backend->deviceNumber(own.rank);
    if (device < 0 || !isWhole(regionOf(program(), tensor, own.rank)))
      continue;
    data = own.results[index];
    return Status();
  }
  bool isOnDevice =
      std::any_of(memory.begin(), memory.end(), [&](const RankMemory &own) {
        return backend->deviceNumber(own.rank) >= 0;
      });
  return invalid(
      isOnDevice
          ? format("result %s is whole on none of the devices: get it in the "
                   "CPU's memory",
                   quote(tensor.name).c_str())
          : format("result %s is in the CPU's memory",
                   quote(tensor.name).c_str()));
}

} // namespace weft::rt
