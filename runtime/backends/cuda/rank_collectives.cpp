// SPDX-License-Identifier: Apache-2.0

// Collectives as a rank sees them: a start records what is to be done before it
// and hands the buffers to its group; a wait makes the rank's stream wait for
// the end. The watchdog looks at how far each is, on its own thread.

#include "backends/cuda/polling.h"
#include "backends/cuda/rank.h"
#include "core/collective.h"
#include "core/types.h"

namespace weft::rt::cuda {
namespace {

Status follow() { return Status(WEFT_RT_RANK_FAILED, ""); }

} // namespace

// ---- starting --------------------------------------------------------------

Status CudaRank::injectFault(const weft_rt_collective &collective,
                             int64_t number) {
  for (const weft_rt_fault &fault : world.options.faults) {
    if (fault.rank != self.rank || fault.collective != number)
      continue;
    if (fault.kind == WEFT_RT_FAULT_FAIL)
      return Status(WEFT_RT_RANK_FAILED,
                    format("rank %lld was told to fail at %s",
                           (long long)self.rank,
                           collectiveName(collective).c_str()));
    if (fault.kind == WEFT_RT_FAULT_DELAY) {
      sleepFor(fault.milliseconds * 1'000'000);
      continue;
    }
    world.awaitFailure();
    return follow();
  }
  return Status();
}

Status CudaRank::checkStart(const weft_rt_collective &collective,
                            const void *const *in, void *const *out) const {
  int64_t size = seats[collective.channel].group->size();
  WEFT_RT_RETURN_IF_ERROR(checkCollective(collective, size, in, out));
  for (int32_t i = 0; i < collective.num_operands; ++i)
    if (isReduction(collective.kind) &&
        !canCombine(collective.operands[i].type, collective.reduction))
      return invalid(format("%s: operand %d: values of type %s cannot be "
                            "combined by %s",
                            collectiveName(collective).c_str(), i,
                            typeName(collective.operands[i].type),
                            reductionName(collective.reduction)));
  if (collective.num_operands > program.max_operands)
    return invalid(format("%s has %d operands, and the program says that none "
                          "has more than %d",
                          collectiveName(collective).c_str(),
                          collective.num_operands, program.max_operands));
  return Status();
}

/// What arrives replaces it; where a buffer is input and output, it is still to
/// be read.
Status CudaRank::poisonOutputs(const weft_rt_collective &collective,
                               const void *const *in, void *const *out,
                               CUstream_st *on) {
  int64_t size = seats[collective.channel].group->size();
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    int64_t bytes = outputBytes(collective.kind, collective.operands[i], size);
    if (in[i] != out[i] && bytes > 0)
      WEFT_CUDA_CALL(api, cuMemsetD8Async, deviceAddress(out[i]), 0xff,
                     size_t(bytes), on);
  }
  return Status();
}

/// A place for one more, when the device has finished an earlier one.
Status CudaRank::awaitPlace(InFlight *&entry) {
  for (Pause pause; true; pause.sleep()) {
    std::lock_guard<std::mutex> guard(flight.lock);
    if (flight.open() >= Flight::mostOpen)
      return invalid(format("more than %lld collectives are in flight",
                            (long long)Flight::mostOpen));
    if (world.hasFailed())
      return follow();
    entry = flight.take();
    if (entry)
      return Status();
    noteFinished();
  }
}

void CudaRank::freezeFlight() {
  std::lock_guard<std::mutex> guard(flight.lock);
  for (InFlight &entry : flight.all())
    entry.wasDone = entry.ticket && entry.isAwaited && entry.isFinished(api);
}

/// Notes which of those that the program has waited for the device has
/// finished.
void CudaRank::noteFinished() {
  bool isFrozen = world.hasFailed();
  for (InFlight &entry : flight.all()) {
    if (!entry.ticket || !entry.isAwaited || entry.isNoted)
      continue;
    bool isDone = isFrozen ? entry.wasDone : entry.isFinished(api);
    if (!isDone)
      continue;
    const Seat &seat = *entry.seat;
    log.finish(
        entry.record, *entry.collective,
        receivedBytes(*entry.collective, seat.group->size(), seat.index));
    entry.isNoted = true;
  }
}

Status CudaRank::tryStart(int32_t op, const weft_rt_collective &collective,
                          const void *const *in, void *const *out,
                          int64_t &ticket) {
  if (collective.channel < 0 || collective.channel >= program.num_channels)
    return invalid(format("collective names channel %d of %d",
                          collective.channel, program.num_channels));
  WEFT_RT_RETURN_IF_ERROR(streams.checkChannel("a start", collective.channel));
  Moment begin = log.moment();
  perturb();
  int64_t record = log.start(collective);
  WEFT_RT_RETURN_IF_ERROR(injectFault(collective, record));
  WEFT_RT_RETURN_IF_ERROR(checkStart(collective, in, out));
  InFlight *entry = nullptr;
  WEFT_RT_RETURN_IF_ERROR(awaitPlace(entry));
  CUstream_st *from = nullptr;
  WEFT_RT_RETURN_IF_ERROR(inputStream(collective.channel, from));
  if (world.options.poisonsFlight)
    WEFT_RT_RETURN_IF_ERROR(poisonOutputs(collective, in, out, from));
  WEFT_CUDA_CALL(api, cuEventRecord, entry->input, from);
  const Seat &seat = seats[collective.channel];
  Result<int64_t> number = seat.group->start(
      seat.index, {&collective, in, out, entry->input, entry->done});
  if (!number.ok())
    return number.status();
  noteStarted(collective.channel, entry->done, seat.group, *number);
  ticket = entry->ticket;
  Moment end = log.moment();
  std::lock_guard<std::mutex> guard(flight.lock);
  entry->collective = &collective;
  entry->seat = &seat;
  entry->record = record;
  entry->number = *number;
  entry->cost = {WEFT_RT_IN_COLLECTIVE, op, &collective, end.wall - begin.wall,
                 end.cpu - begin.cpu};
  log.trace(
      {SpanKind::Start, op, &collective, begin.wall, end.wall, ticket, 0});
  return Status();
}

Status CudaRank::tryNoteStart(const weft_rt_collective &collective,
                              const Notes *notes, int64_t launch,
                              int64_t &ticket) {
  int64_t record = log.start(collective);
  InFlight *entry = nullptr;
  WEFT_RT_RETURN_IF_ERROR(awaitPlace(entry));
  const Seat &seat = seats[collective.channel];
  Result<int64_t> number = seat.group->count(seat.index, collective);
  if (!number.ok())
    return number.status();
  ticket = entry->ticket;
  std::lock_guard<std::mutex> guard(flight.lock);
  entry->collective = &collective;
  entry->seat = &seat;
  entry->record = record;
  entry->number = *number;
  entry->notes = notes;
  entry->launch = launch;
  entry->cost = {};
  return Status();
}

int64_t CudaRank::noteStart(const weft_rt_collective &collective,
                            const Notes *notes, int64_t launch) {
  int64_t ticket = -1;
  return check(tryNoteStart(collective, notes, launch, ticket)) ? ticket : -1;
}

Status CudaRank::awaitOpen() {
  for (InFlight &entry : flight.all())
    if (entry.ticket && !entry.isAwaited && !entry.notes && entry.number >= 0)
      WEFT_RT_RETURN_IF_ERROR(tryWait(entry));
  return Status();
}

int64_t CudaRank::startCollective(int32_t op,
                                  const weft_rt_collective &collective,
                                  const void *const *in, void *const *out) {
  int64_t ticket = -1;
  return check(tryStart(op, collective, in, out, ticket)) ? ticket : -1;
}

// ---- waiting ---------------------------------------------------------------

/// What a graph holds is over when the graph is.
Status CudaRank::tryWait(InFlight &entry) {
  if (entry.notes)
    return Status();
  if (!entry.seat->group->awaitRecorded(entry.number))
    return follow();
  // A channel's own stream is after its collectives.
  if (streams.current() == Streams::compute)
    WEFT_CUDA_CALL(api, cuStreamWaitEvent, stream, entry.done, 0);
  return Status();
}

bool CudaRank::wait(int32_t op, int64_t ticket) {
  // Only this thread gives places away, so that it may look without the lock.
  InFlight *entry = flight.find(ticket);
  if (!entry)
    return check(Status(WEFT_RT_RANK_FAILED,
                        format("rank %lld waits for ticket %lld, which is not "
                               "in flight",
                               (long long)self.rank, (long long)ticket)));
  if (!check(streams.checkChannel("a wait", entry->collective->channel)))
    return false;
  Moment begin = log.moment();
  perturb();
  log.await(entry->record);
  if (!check(tryWait(*entry)) || !check(awaitProfiled()))
    return false;
  const weft_rt_collective &collective = *entry->collective;
  int64_t bytes =
      receivedBytes(collective, entry->seat->group->size(), entry->seat->index);
  Cost cost = entry->cost;
  {
    std::lock_guard<std::mutex> guard(flight.lock);
    flight.await(*entry);
  }
  Moment end = log.moment();
  cost.wall += end.wall - begin.wall;
  cost.cpu += end.cpu - begin.cpu;
  cost.waited = cost.wall;
  cost.bytes = bytes;
  log.count(cost);
  log.trace({SpanKind::Wait, op, &collective, begin.wall, end.wall, ticket, 0});
  return true;
}

// ---- the watchdog ----------------------------------------------------------

int64_t CudaRank::reachedOn(int32_t channel) {
  const Seat &seat = seats[channel];
  int64_t count = seat.group->startedBy(seat.index);
  std::lock_guard<std::mutex> guard(flight.lock);
  for (InFlight &entry : flight.all())
    if (entry.ticket && !entry.isNoted && entry.number >= 0 &&
        entry.number < count && entry.collective->channel == channel &&
        !entry.isReached(api))
      count = entry.number;
  return count;
}

/// The first collective of each channel that the device has not finished: the
/// others wait after it.
std::vector<InFlight *> CudaRank::channelHeads() {
  std::vector<InFlight *> heads(seats.size(), nullptr);
  for (InFlight &entry : flight.all()) {
    if (!entry.ticket || entry.isNoted || entry.number < 0 ||
        (entry.seat->group->isRecorded(entry.number) && entry.isOver(api)))
      continue;
    InFlight *&head = heads[entry.collective->channel];
    if (!head || entry.ticket < head->ticket)
      head = &entry;
  }
  return heads;
}

LateCollective CudaRank::findLate(int64_t now, int64_t deadline) {
  LateCollective late;
  int64_t since = INT64_MAX;
  std::lock_guard<std::mutex> guard(flight.lock);
  for (InFlight *head : channelHeads()) {
    if (!head || !head->isReached(api))
      continue;
    if (head->reachedAt == 0)
      head->reachedAt = now;
    if (now - head->reachedAt <= deadline || head->reachedAt >= since)
      continue;
    since = head->reachedAt;
    late = {self.rank, head->collective->channel, head->number,
            collectiveName(*head->collective)};
  }
  return late;
}

} // namespace weft::rt::cuda
