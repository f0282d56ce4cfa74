// SPDX-License-Identifier: Apache-2.0

// What a program enqueues on the streams of channels. The collectives of a
// channel are on a stream that is their group's; what else is on it is on a
// side stream of the rank. Events make one of the two: the side waits for the
// channel's last collective before its next op, and a collective comes after
// what the side has got since the one before.

#include "backends/cuda/rank.h"

namespace weft::rt::cuda {

Status CudaRank::makeSide(int32_t channel) {
  if (!edge)
    WEFT_CUDA_CALL(api, cuEventCreate, &edge, driver::eventDisableTiming);
  Side &side = sides[size_t(channel)];
  WEFT_CUDA_CALL(api, cuStreamCreate, &side.stream, driver::streamNonBlocking);
  side.isOpen = side.pending != nullptr; // made in the middle of a step
  return Status();
}

/// What is enqueued on `after` from here on comes after what is on `before`.
Status CudaRank::order(CUstream_st *before, CUstream_st *after) {
  WEFT_CUDA_CALL(api, cuEventRecord, edge, before);
  WEFT_CUDA_CALL(api, cuStreamWaitEvent, after, edge, 0);
  return Status();
}

/// Brings a side after the last collective of its channel.
Status CudaRank::catchUp(Side &side) {
  if (!side.pending)
    return Status();
  if (side.group && !side.group->awaitRecorded(side.number))
    return Status(WEFT_RT_RANK_FAILED, ""); // another failure came first
  WEFT_CUDA_CALL(api, cuStreamWaitEvent, side.stream, side.pending, 0);
  side.pending = nullptr;
  return Status();
}

/// Where an op is enqueued.
Status CudaRank::chosenStream(CUstream_st *&on) {
  on = stream;
  if (streams.current() == Streams::compute)
    return Status();
  Side &side = sides[size_t(streams.current())];
  on = side.stream;
  side.hasWork = side.isOpen = true;
  return catchUp(side);
}

/// What a collective comes after, besides those of its channel.
Status CudaRank::inputStream(int32_t channel, CUstream_st *&on) {
  Side &side = sides[size_t(channel)];
  bool isFromChannel = streams.current() != Streams::compute;
  // Who writes to outputs before they are the collective's, must not write to
  // what is still the last one's.
  bool isAfterLast = side.stream && world.options.poisonsFlight;
  on = stream;
  if (!isFromChannel && !side.hasWork && !isAfterLast)
    return Status();
  on = side.stream;
  if (isAfterLast)
    WEFT_RT_RETURN_IF_ERROR(catchUp(side));
  return isFromChannel ? Status() : order(stream, side.stream);
}

/// A collective has been enqueued on its channel. `group`: who records `done`.
void CudaRank::noteStarted(int32_t channel, CUevent_st *done, Group *group,
                           int64_t number) {
  Side &side = sides[size_t(channel)];
  side.pending = done;
  side.group = group;
  side.number = number;
  side.hasWork = false;
  side.isOpen = side.stream != nullptr;
}

/// The rank's stream comes after all others.
Status CudaRank::joinSides() {
  for (Side &side : sides) {
    if (!side.isOpen)
      continue;
    WEFT_RT_RETURN_IF_ERROR(catchUp(side));
    WEFT_RT_RETURN_IF_ERROR(order(side.stream, stream));
    side.hasWork = side.isOpen = false;
  }
  return Status();
}

/// All others come after the rank's stream.
Status CudaRank::forkSides() {
  for (Side &side : sides)
    if (side.stream)
      WEFT_RT_RETURN_IF_ERROR(order(stream, side.stream));
  return Status();
}

// ---- calls of the program --------------------------------------------------

bool CudaRank::setStream(int32_t channel) {
  if (!check(streams.set(channel)))
    return false;
  // Where a step chooses none before a scalar that it reads.
  return channel == Streams::compute || sides[size_t(channel)].stream ||
         check(makeSide(channel));
}

Status CudaRank::tryRecord(int32_t event) {
  WEFT_RT_RETURN_IF_ERROR(streams.record(event));
  CUstream_st *on = nullptr;
  WEFT_RT_RETURN_IF_ERROR(chosenStream(on));
  WEFT_CUDA_CALL(api, cuEventRecord, events[size_t(event)], on);
  return Status();
}

bool CudaRank::record(int32_t event) {
  if (!check(tryRecord(event)))
    return false;
  isInGraph[size_t(event)] = false;
  return true;
}

Status CudaRank::tryAwait(int32_t event) {
  CUstream_st *on = stream;
  if (streams.current() != Streams::compute) {
    Side &side = sides[size_t(streams.current())];
    on = side.stream;
    side.hasWork = side.isOpen = true;
  }
  WEFT_CUDA_CALL(api, cuStreamWaitEvent, on, events[size_t(event)], 0);
  return Status();
}

bool CudaRank::await(int32_t event) {
  return check(streams.await(event)) &&
         (isInGraph[size_t(event)] || check(tryAwait(event)));
}

} // namespace weft::rt::cuda
