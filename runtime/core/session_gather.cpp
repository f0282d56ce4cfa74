// SPDX-License-Identifier: Apache-2.0

// Results in a job of several processes: each part goes from the process of its
// first holder to process 0, which joins them, and from there to those that
// wish to have the whole.

#include "core/session.h"

#include "core/types.h"

#include <cstdlib>
#include <memory>

namespace weft::rt {
namespace {

struct Free {
  void operator()(void *data) { std::free(data); }
};
using Buffer = std::unique_ptr<void, Free>;

Result<Buffer> makeBuffer(int64_t bytes) {
  Buffer buffer(std::malloc(size_t(bytes) + 1));
  if (!buffer)
    return Status(WEFT_RT_NO_MEMORY,
                  format("cannot allocate %lld bytes to gather a result",
                         (long long)bytes));
  return buffer;
}

/// A rank's part as a tensor of its own, padding included.
Region aloneOf(const Region &region) {
  std::vector<int64_t> zeros(region.localShape.size(), 0);
  return {region.localShape, region.localShape, zeros, region.localShape};
}

int64_t wholeBytes(const weft_rt_tensor &tensor) {
  return byteSize(tensor.type, *elementCount(tensor.shape, tensor.rank));
}

int64_t bytesOf(const weft_rt_tensor &tensor) {
  return byteSize(tensor.type, *elementCount(tensor.local_shape, tensor.rank));
}

} // namespace

/// The parts that a process gives: of its ranks, those that are the first to
/// hold one.
std::vector<int64_t> Session::partsOf(const weft_rt_tensor &result,
                                      int64_t process) const {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < int64_t(programs.size()); ++rank)
    if (backend->job()->processOf(rank) == process &&
        firstHolder(program(), result, rank) == rank &&
        !isEmpty(regionOf(program(), result, rank)))
      ranks.push_back(rank);
  return ranks;
}

/// The same on all processes, so that they agree on who takes part.
bool Session::isWholeEverywhere(const weft_rt_tensor &result) const {
  int64_t processes = backend->job()->place().count;
  std::vector<std::vector<bool>> isHere(size_t(processes),
                                        std::vector<bool>(programs.size()));
  for (size_t rank = 0; rank < programs.size(); ++rank)
    isHere[size_t(backend->job()->processOf(int64_t(rank)))]
          [size_t(firstHolder(program(), result, int64_t(rank)))] = true;
  for (int64_t process = 0; process < processes; ++process)
    for (int64_t part : partsOf(result, process))
      for (const std::vector<bool> &parts : isHere)
        if (!parts[size_t(part)])
          return false;
  return true;
}

Status Session::sendParts(int32_t index) {
  JobMember &job = *backend->job();
  const weft_rt_tensor &result = program().results[index];
  Result<Buffer> buffer = makeBuffer(bytesOf(result));
  if (!buffer.ok())
    return buffer.status();
  for (int64_t rank : partsOf(result, job.place().process)) {
    Region region = aloneOf(regionOf(program(), result, rank));
    WEFT_RT_RETURN_IF_ERROR(note(backend->download(
        result.type,
        {{rank, memoryOfRank[size_t(rank)]->results[index], region}},
        buffer->get())));
    WEFT_RT_RETURN_IF_ERROR(job.send(0, buffer->get(), bytesOf(result)));
  }
  return Status();
}

Status Session::receiveParts(const weft_rt_tensor &result, int64_t process,
                             void *data) {
  Result<Buffer> buffer = makeBuffer(bytesOf(result));
  if (!buffer.ok())
    return buffer.status();
  for (int64_t rank : partsOf(result, process)) {
    WEFT_RT_RETURN_IF_ERROR(
        backend->job()->receive(process, buffer->get(), bytesOf(result)));
    joinRegion(result.type, regionOf(program(), result, rank), buffer->get(),
               data);
  }
  return Status();
}

Status Session::gatherResult(int32_t index, void *data, int64_t bytes) {
  JobMember &job = *backend->job();
  const weft_rt_tensor &result = program().results[index];
  Result<std::vector<std::string>> wishes =
      job.exchange(format("result %d%s", index, data ? " wanted" : ""));
  if (!wishes.ok())
    return note({wishes.status(), false});
  std::string plain = format("result %d", index), wished = plain + " wanted";
  for (size_t process = 0; process < wishes->size(); ++process) {
    const std::string &wish = (*wishes)[process];
    if (wish != plain && wish != wished)
      return note({Status(WEFT_RT_RANK_FAILED,
                          format("%s asks for another result than the others, "
                                 "which ask for %s",
                                 job.nameOf(int64_t(process)).c_str(),
                                 quote(result.name).c_str())),
                   false});
  }
  auto isWished = [&](int64_t process) {
    return (*wishes)[size_t(process)] == wished;
  };
  auto gather = [&]() -> Status {
    if (!job.isFirst()) {
      WEFT_RT_RETURN_IF_ERROR(sendParts(index));
      return data ? job.receive(0, data, bytes) : Status();
    }
    int64_t whole = wholeBytes(result);
    Result<Buffer> buffer = makeBuffer(data ? 0 : whole);
    if (!buffer.ok())
      return buffer.status();
    void *to = data ? data : buffer->get();
    WEFT_RT_RETURN_IF_ERROR(
        note(backend->download(result.type, shardsToGive(index), to)));
    for (int64_t process = 1; process < job.place().count; ++process)
      WEFT_RT_RETURN_IF_ERROR(receiveParts(result, process, to));
    for (int64_t process = 1; process < job.place().count; ++process)
      if (isWished(process))
        WEFT_RT_RETURN_IF_ERROR(job.send(process, to, whole));
    return Status();
  };
  Status status = gather();
  if (!status.ok())
    job.fail(status);
  return note({status, status.ok()});
}

} // namespace weft::rt
