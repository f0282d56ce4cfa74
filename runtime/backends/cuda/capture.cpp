// SPDX-License-Identifier: Apache-2.0

// A chain as a graph. The rank's stream is captured, and with it, by events,
// the streams of the channels and those on which notes are written. All of them
// join the rank's stream at the end, also for collectives that the program
// waits for only in a later chain.

#include "backends/cuda/rank.h"
#include "backends/cuda/step_calls.h"
#include "core/collective.h"

namespace weft::rt::cuda {

StepCalls::~StepCalls() {
  CurrentContext current(rank.device);
  const DriverApi &api = rank.api;
  for (auto &one : known) {
    if (one->graph)
      api.cuGraphExecDestroy(one->graph);
    if (one->notes)
      api.cuMemFreeHost(one->notes);
  }
  for (CUevent_st *event : events)
    api.cuEventDestroy_v2(event);
  if (edge)
    api.cuEventDestroy_v2(edge);
  for (CUstream_st *stream : endNotes)
    api.cuStreamDestroy_v2(stream);
  if (inputNotes)
    api.cuStreamDestroy_v2(inputNotes);
  if (deviceNumber)
    api.cuMemFree_v2(deviceAddress(deviceNumber));
  if (number)
    api.cuMemFreeHost(number);
}

void StepCalls::dropGraphs() {
  std::lock_guard<std::mutex> guard(graphLock);
  CurrentContext current(rank.device);
  isDropped = true;
  for (auto &one : known) {
    if (one->graph)
      rank.api.cuGraphExecDestroy(one->graph);
    one->graph = nullptr;
  }
}

Status StepCalls::prepare() {
  const DriverApi &api = rank.api;
  DevicePointer place = 0;
  void *pinned = nullptr;
  WEFT_CUDA_CALL(api, cuMemAlloc_v2, &place, sizeof(int64_t));
  deviceNumber = reinterpret_cast<void *>(place);
  WEFT_CUDA_CALL(api, cuMemAllocHost_v2, &pinned, sizeof(int64_t));
  number = static_cast<int64_t *>(pinned);
  *number = 0;
  WEFT_CUDA_CALL(api, cuEventCreate, &edge, driver::eventDisableTiming);
  WEFT_CUDA_CALL(api, cuStreamCreate, &inputNotes, driver::streamNonBlocking);
  for (int32_t i = 0; i < rank.program.num_channels; ++i) {
    CUstream_st *stream = nullptr;
    WEFT_CUDA_CALL(api, cuStreamCreate, &stream, driver::streamNonBlocking);
    endNotes.push_back(stream);
  }
  isOn = true;
  return Status();
}

/// Nothing may be allocated while streams are captured.
Status StepCalls::makeRoom(Known &one) {
  auto starts = size_t(one.chain.starts());
  while (events.size() < starts) {
    CUevent_st *event = nullptr;
    WEFT_CUDA_CALL(rank.api, cuEventCreate, &event, driver::eventDisableTiming);
    events.push_back(event);
  }
  if (starts == 0 || one.notes)
    return Status();
  void *pinned = nullptr;
  WEFT_CUDA_CALL(rank.api, cuMemAllocHost_v2, &pinned, starts * sizeof(Notes));
  one.notes = static_cast<Notes *>(pinned);
  for (size_t i = 0; i < starts; ++i)
    one.notes[i].reached = one.notes[i].over = 0;
  return Status();
}

Status StepCalls::capture(Known &one) {
  Status status = tryCapture(one);
  one.isCaptured = status.ok();
  counts.graphs += status.ok() ? 1 : 0;
  if (status.ok() || status.message().empty())
    return status;
  return within("the step cannot be captured (--no-graphs runs it without)",
                status);
}

Status StepCalls::tryCapture(Known &one) {
  const DriverApi &api = rank.api;
  WEFT_RT_RETURN_IF_ERROR(makeRoom(one));
  // What is captured cannot wait for what was enqueued.
  WEFT_RT_RETURN_IF_ERROR(rank.joinSides());
  WEFT_CUDA_CALL(api, cuStreamBeginCapture_v2, rank.stream,
                 driver::captureThreadLocal);
  Status status = captureCalls(one);
  CUgraph_st *graph = nullptr;
  int result = api.cuStreamEndCapture(rank.stream, &graph);
  if (status.ok() && result)
    status = driverError(api, "cuStreamEndCapture", result);
  std::lock_guard<std::mutex> guard(graphLock);
  if (status.ok() && !isDropped) {
    result = api.cuGraphInstantiateWithFlags(&one.graph, graph, 0);
    if (result)
      status = driverError(api, "cuGraphInstantiateWithFlags", result);
  }
  if (graph)
    api.cuGraphDestroy(graph);
  return status;
}

/// The streams that the chain chooses, but for the one that computes.
std::vector<int32_t> StepCalls::sidesOf(const Chain &chain) const {
  std::vector<bool> isUsed(rank.sides.size());
  for (const ChainCall &call : chain.all()) {
    int64_t channel =
        call.kind == CallKind::SetStream ? *chain.scalarsOf(call) : -1;
    if (channel >= 0 && channel < int64_t(isUsed.size()) &&
        rank.sides[size_t(channel)].stream)
      isUsed[size_t(channel)] = true;
  }
  std::vector<int32_t> found;
  for (size_t channel = 0; channel < isUsed.size(); ++channel)
    if (isUsed[channel])
      found.push_back(int32_t(channel));
  return found;
}

/// Leaves the rank's streams as they were: nothing of it has been enqueued.
Status StepCalls::captureCalls(Known &one) {
  Streams before = rank.streams;
  isCaptured.assign(rank.events.size(), false);
  Status status = captureAll(one);
  rank.streams = before;
  for (CudaRank::Side &side : rank.sides) {
    side.pending = nullptr;
    side.hasWork = side.isOpen = false;
  }
  return status;
}

Status StepCalls::captureAll(Known &one) {
  for (int32_t channel : sidesOf(one.chain))
    WEFT_RT_RETURN_IF_ERROR(
        rank.order(rank.stream, rank.sides[size_t(channel)].stream));
  int64_t start = 0;
  for (const ChainCall &call : one.chain.all())
    WEFT_RT_RETURN_IF_ERROR(captureCall(one, call, start));
  return joinStreams(one.chain);
}

Status StepCalls::captureCall(const Known &one, const ChainCall &call,
                              int64_t &start) {
  const Chain &chain = one.chain;
  switch (call.kind) {
  case CallKind::Start:
    return captureStart(one, call, start++);
  case CallKind::Wait: {
    int64_t index = chain.scalarsOf(call)[0] - 1; // before 0: it is over
    if (index >= 0 && index < start &&
        rank.streams.current() == Streams::compute)
      WEFT_CUDA_CALL(rank.api, cuStreamWaitEvent, rank.stream,
                     events[size_t(index)], 0);
    return Status();
  }
  case CallKind::Record:
  case CallKind::Await:
    return captureEvent(call, int32_t(*chain.scalarsOf(call)));
  default:
    return runCall(chain, call) ? Status() : Status(WEFT_RT_RANK_FAILED, "");
  }
}

/// An event of an earlier chain is over when this one begins.
Status StepCalls::captureEvent(const ChainCall &call, int32_t event) {
  if (call.kind == CallKind::Record) {
    WEFT_RT_RETURN_IF_ERROR(rank.tryRecord(event));
    isCaptured[size_t(event)] = true;
    return Status();
  }
  WEFT_RT_RETURN_IF_ERROR(rank.streams.await(event));
  return isCaptured[size_t(event)] ? rank.tryAwait(event) : Status();
}

Status StepCalls::captureStart(const Known &one, const ChainCall &call,
                               int64_t start) {
  const DriverApi &api = rank.api;
  auto &collective = *static_cast<const weft_rt_collective *>(call.what);
  const void *const *in = one.chain.buffersOf(call);
  void *const *out = one.chain.writableOf(call) + collective.num_operands;
  CUevent_st *done = events[size_t(start)];
  CUstream_st *ends = endNotes[size_t(collective.channel)];
  const Seat &seat = rank.seats[size_t(collective.channel)];
  Notes &notes = one.notes[start];
  auto note = [&](int64_t &word, CUstream_st *stream) -> Status {
    WEFT_CUDA_CALL(api, cuMemcpyDtoHAsync_v2, &word,
                   deviceAddress(deviceNumber), sizeof(word), stream);
    return Status();
  };
  CUstream_st *from = nullptr;
  WEFT_RT_RETURN_IF_ERROR(rank.inputStream(collective.channel, from));
  if (rank.poisonsFlight())
    WEFT_RT_RETURN_IF_ERROR(rank.poisonOutputs(collective, in, out, from));
  WEFT_CUDA_CALL(api, cuEventRecord, edge, from);
  WEFT_CUDA_CALL(api, cuStreamWaitEvent, inputNotes, edge, 0);
  WEFT_RT_RETURN_IF_ERROR(note(notes.reached, inputNotes));
  WEFT_RT_RETURN_IF_ERROR(
      seat.group->capture(seat.index, {&collective, in, out, edge, done}));
  rank.noteStarted(collective.channel, done, nullptr, 0);
  WEFT_CUDA_CALL(api, cuStreamWaitEvent, ends, done, 0);
  return note(notes.over, ends);
}

Status StepCalls::joinStream(CUstream_st *side) {
  WEFT_CUDA_CALL(rank.api, cuEventRecord, edge, side);
  WEFT_CUDA_CALL(rank.api, cuStreamWaitEvent, rank.stream, edge, 0);
  return Status();
}

/// The notes of a channel come after all of its collectives.
Status StepCalls::joinStreams(const Chain &chain) {
  std::vector<bool> isUsed(endNotes.size());
  for (const ChainCall &call : chain.all())
    if (call.kind == CallKind::Start)
      isUsed[size_t(
          static_cast<const weft_rt_collective *>(call.what)->channel)] = true;
  if (chain.starts() > 0)
    WEFT_RT_RETURN_IF_ERROR(joinStream(inputNotes));
  for (size_t channel = 0; channel < endNotes.size(); ++channel)
    if (isUsed[channel])
      WEFT_RT_RETURN_IF_ERROR(joinStream(endNotes[channel]));
  for (int32_t channel : sidesOf(chain))
    WEFT_RT_RETURN_IF_ERROR(joinStream(rank.sides[size_t(channel)].stream));
  return Status();
}

/// The graph comes after the rank's stream, and so after what earlier chains
/// have left open.
Status StepCalls::launchGraph(Known &one) {
  const DriverApi &api = rank.api;
  WEFT_RT_RETURN_IF_ERROR(rank.awaitOpen());
  WEFT_RT_RETURN_IF_ERROR(rank.joinSides());
  ++*number;
  WEFT_CUDA_CALL(api, cuMemcpyHtoDAsync_v2, deviceAddress(deviceNumber), number,
                 sizeof(*number), rank.stream);
  std::lock_guard<std::mutex> guard(graphLock);
  if (isDropped)
    return Status(WEFT_RT_RANK_FAILED, ""); // another failure came first
  WEFT_CUDA_CALL(api, cuGraphLaunch, one.graph, rank.stream);
  ++counts.launches;
  return rank.forkSides();
}

} // namespace weft::rt::cuda
