// SPDX-License-Identifier: Apache-2.0

// Collectives as a rank sees them: what it starts is checked, given a ticket
// and published in its group; a wait ends with the collective, with another
// rank's failure, or at the deadline.

#include "backends/host/rank.h"

#include "backends/host/futex.h"
#include "backends/host/reduce.h"
#include "core/collective.h"
#include "core/types.h"

#include <cstring>

namespace weft::rt {
namespace {

/// Another rank failed before; nothing is left to say.
Status follow() { return Status(WEFT_RT_RANK_FAILED, ""); }

Status rankFailed(std::string message) {
  return Status(WEFT_RT_RANK_FAILED, std::move(message));
}

std::string listRanks(const std::vector<int64_t> &ranks) {
  if (ranks.empty())
    return "a rank that came too late";
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : " ") + std::to_string(ranks[i]);
  return text;
}

Status checkReduction(const weft_rt_collective &collective) {
  if (!isReduction(collective.kind))
    return Status();
  for (int32_t i = 0; i < collective.num_operands; ++i)
    if (!canReduce(collective.operands[i].type, collective.reduction))
      return invalid(format("%s: operand %d: values of type %s cannot be "
                            "combined by %s",
                            collectiveName(collective).c_str(), i,
                            typeName(collective.operands[i].type),
                            reductionName(collective.reduction)));
  return Status();
}

} // namespace

std::string HostRank::channelName(const weft_rt_collective &collective) const {
  return "channel " + quote(program.channels[collective.channel].name);
}

// ---- starting --------------------------------------------------------------

Status HostRank::injectFault(const weft_rt_collective &collective,
                             int64_t number) {
  for (const weft_rt_fault &fault : world.options.faults) {
    if (fault.rank != self.rank || fault.collective != number)
      continue;
    if (fault.kind == WEFT_RT_FAULT_FAIL)
      return rankFailed(format("rank %lld was told to fail at %s",
                               (long long)self.rank,
                               collectiveName(collective).c_str()));
    if (fault.kind == WEFT_RT_FAULT_DELAY) {
      sleepUntil(now() + fault.milliseconds * 1'000'000);
      continue;
    }
    world.awaitFailure();
    return follow();
  }
  return Status();
}

Status HostRank::checkStart(const weft_rt_collective &collective,
                            const void *const *in, void *const *out) {
  int64_t size = seats[collective.channel].group->size();
  WEFT_RT_RETURN_IF_ERROR(checkCollective(collective, size, in, out));
  WEFT_RT_RETURN_IF_ERROR(checkReduction(collective));
  if (collective.num_operands > program.max_operands)
    return invalid(format("%s has %d operands, and the program says that none "
                          "has more than %d",
                          collectiveName(collective).c_str(),
                          collective.num_operands, program.max_operands));
  return Status();
}

/// What arrives replaces it; where a buffer is input and output, it is still to
/// be read.
void HostRank::poisonOutputs(const InFlight &entry,
                             MemberBuffers buffers) const {
  const weft_rt_collective &collective = *entry.collective;
  for (int32_t i = 0; i < collective.num_operands; ++i)
    if (buffers.in[i] != buffers.out[i])
      std::memset(buffers.out[i], 0xff,
                  outputBytes(collective.kind, collective.operands[i],
                              entry.seat->group->size()));
}

Status HostRank::tryStart(int32_t op, const weft_rt_collective &collective,
                          const void *const *in, void *const *out,
                          int64_t &ticket) {
  if (collective.channel < 0 || collective.channel >= program.num_channels)
    return invalid(format("collective names channel %d of %d",
                          collective.channel, program.num_channels));
  WEFT_RT_RETURN_IF_ERROR(streams.checkChannel("a start", collective.channel));
  Moment begin = log.moment();
  perturbation.delay();
  int64_t flight = log.start(collective);
  WEFT_RT_RETURN_IF_ERROR(injectFault(collective, flight));
  WEFT_RT_RETURN_IF_ERROR(checkStart(collective, in, out));
  if (world.hasFailed())
    return follow();
  InFlight *entry = tickets.take();
  if (!entry)
    return invalid(format("more than %lld collectives are in flight",
                          (long long)Tickets::capacity));
  const Seat &seat = seats[collective.channel];
  entry->collective = &collective;
  entry->seat = &seat;
  entry->flight = flight;
  MemberBuffers buffers =
      tickets.keep(*entry, collective.num_operands, in, out);
  if (world.options.poisonsFlight)
    poisonOutputs(*entry, buffers);
  entry->number = seat.group->start(seat.index, collective, buffers);
  ticket = entry->ticket;
  lastStarted[collective.channel] = *entry;
  perturbation.delay();
  Moment end = log.moment();
  entry->cost = {WEFT_RT_IN_COLLECTIVE, op, &collective, end.wall - begin.wall,
                 end.cpu - begin.cpu};
  log.trace(
      {SpanKind::Start, op, &collective, begin.wall, end.wall, ticket, 0});
  return Status();
}

/// Failures of other kinds have not named the rank.
void HostRank::failWith(Status status) {
  if (status.code() != WEFT_RT_RANK_FAILED)
    status = rankFailed(format("rank %lld: ", (long long)self.rank) +
                        status.message());
  world.fail(status);
}

int64_t HostRank::startCollective(int32_t op,
                                  const weft_rt_collective &collective,
                                  const void *const *in, void *const *out) {
  int64_t ticket = -1;
  Status status = tryStart(op, collective, in, out, ticket);
  if (status.ok())
    return ticket;
  failWith(std::move(status));
  return -1;
}

// ---- waiting ---------------------------------------------------------------

Status HostRank::tryWait(const InFlight &entry) {
  const Seat &seat = *entry.seat;
  std::vector<int64_t> missing;
  while (true) {
    Meeting outcome =
        seat.group->wait(seat.index, entry.number, mover, world.spins,
                         now() + world.deadlineNanoseconds);
    if (outcome == Meeting::Complete)
      return Status();
    if (outcome == Meeting::Broken)
      return follow();
    missing = seat.group->missing(entry.number);
    // All are there, and the model of the link takes its time.
    if (!missing.empty() || !world.link)
      break;
  }
  return rankFailed(
      format("%s on %s: rank %lld waited %g s for %s, in the group of %s",
             collectiveName(*entry.collective).c_str(),
             channelName(*entry.collective).c_str(), (long long)self.rank,
             world.options.deadlineSeconds, listRanks(missing).c_str(),
             listRanks(seat.group->members()).c_str()));
}

bool HostRank::wait(int32_t op, int64_t ticket) {
  InFlight *entry = tickets.find(ticket);
  if (!entry) {
    world.fail(rankFailed(format("rank %lld waits for ticket %lld, which is "
                                 "not in flight",
                                 (long long)self.rank, (long long)ticket)));
    return false;
  }
  if (!check(streams.checkChannel("a wait", entry->collective->channel)))
    return false;
  Moment begin = log.moment();
  perturbation.delay();
  mover.nanoseconds = 0;
  log.await(entry->flight);
  Status status = tryWait(*entry);
  if (!status.ok()) {
    world.fail(status);
    return false;
  }
  const weft_rt_collective &collective = *entry->collective;
  const Seat &seat = *entry->seat;
  int64_t bytes = receivedBytes(collective, seat.group->size(), seat.index);
  log.finish(entry->flight, collective, bytes);
  Interval times = seat.group->timesOf(entry->number);
  Cost cost = entry->cost;
  tickets.release(*entry);
  perturbation.delay();
  Moment end = log.moment();
  cost.wall += end.wall - begin.wall;
  cost.cpu += end.cpu - begin.cpu;
  cost.waited = cost.wall - mover.nanoseconds;
  cost.bytes = bytes;
  log.count(cost);
  log.trace({SpanKind::Collective, cost.op, &collective, times.begin, times.end,
             ticket, bytes});
  log.trace({SpanKind::Wait, op, &collective, begin.wall, end.wall, ticket, 0});
  return true;
}

// ---- streams ---------------------------------------------------------------

// The rank's thread does what is on its channels' streams as well, in the order
// of the calls: each op when it is called, after the channel's collectives up
// to there. So the thread is after every event of an op, and what it has to
// wait for, for one that comes after a collective, is this collective.

bool HostRank::check(Status status) {
  if (status.ok())
    return true;
  failWith(std::move(status));
  return false;
}

/// Returns when the collectives of the chosen stream are done, up to here.
bool HostRank::catchUp() {
  if (streams.current() == Streams::compute)
    return true;
  const InFlight &last = lastStarted[streams.current()];
  return !last.collective || check(tryWait(last));
}

bool HostRank::setStream(int32_t channel) {
  return check(streams.set(channel));
}

bool HostRank::record(int32_t event) {
  if (!check(streams.record(event)))
    return false;
  bool isComputed = streams.current() == Streams::compute;
  recorded[event] = isComputed ? InFlight() : lastStarted[streams.current()];
  return true;
}

bool HostRank::await(int32_t event) {
  if (!check(streams.await(event)))
    return false;
  const InFlight &last = recorded[event];
  return !last.collective || check(tryWait(last));
}

} // namespace weft::rt
