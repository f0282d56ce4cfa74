// SPDX-License-Identifier: Apache-2.0

// A rank's thread sleeps between tasks. Within a task, compiled code calls the
// functions of the table at the end of this file; each returns to it only on
// success.

#include "host/rank.h"

#include "core/collective.h"
#include "core/types.h"
#include "gemm/gemm.h"
#include "host/futex.h"
#include "host/reduce.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>

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

void sleepUntil(int64_t moment) {
  std::atomic<uint32_t> nap{0};
  while (now() < moment)
    sleepWhile(nap, 0, moment);
}

void runPieces(void *team, int64_t pieces, void (*body)(void *, int64_t),
               void *context) {
  static_cast<Team *>(team)->run(pieces, body, context);
}

} // namespace

HostRank::HostRank(HostWorld &world, int64_t rank)
    : log(*world.options.programs[rank], world.options.traceEvents,
          world.options.profile),
      world(world), self{rank, this}, program(*world.options.programs[rank]) {
  int64_t largest = 1;
  for (size_t channel = 0; channel < world.groups.size(); ++channel) {
    Membership place = world.layout[channel].ofRank[rank];
    Group *group = world.groups[channel][place.group].get();
    seats.push_back({group, place.index});
    largest = std::max(largest, group->size());
  }
  inputs.resize(largest);
}

Status HostRank::start() {
  WEFT_RT_RETURN_IF_ERROR(
      team.start(world.teamSize - 1, world.spins, prepareHelper, this));
  WEFT_RT_RETURN_IF_ERROR(startThread(&thread, threadMain, this));
  isStarted = true;
  return Status();
}

void HostRank::join() {
  if (isStarted)
    pthread_join(thread, nullptr);
}

void *HostRank::threadMain(void *rank) {
  static_cast<HostRank *>(rank)->serve();
  return nullptr;
}

/// Names the thread, for debuggers and profilers; the system cuts names at 15
/// bytes.
void HostRank::prepareThread(int member) {
  std::string name = format("weft rank %lld", (long long)self.rank);
  if (member > 0)
    name += format(".%d", member);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (world.options.prepareThread)
    world.options.prepareThread();
}

void HostRank::prepareHelper(void *rank, int member) {
  auto &owner = *static_cast<HostRank *>(rank);
  owner.prepareThread(member);
  rankOfThread = &owner;
}

void HostRank::serve() {
  prepareThread(0);
  uint32_t seen = 0;
  while (true) {
    waitWhile(world.epoch, seen, world.spins, never);
    ++seen;
    if (!world.task)
      return;
    runTask();
    if (world.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wakeAll(world.running);
  }
}

void HostRank::runTask() {
  rankOfThread = this;
  bool returned = weft_rt_enter(&home, world.task, world.context, &self);
  rankOfThread = nullptr;
  if (!returned && entered)
    entered->leave(true); // killed within a collective
  if (returned && open > 0)
    world.fail(rankFailed(format("rank %lld ended the step with %lld "
                                 "collectives not waited for",
                                 (long long)self.rank, (long long)open)));
}

std::string HostRank::channelName(const weft_rt_collective &collective) const {
  return "channel " + quote(program.channels[collective.channel].name);
}

// ---- signals ---------------------------------------------------------------

thread_local HostRank *HostRank::rankOfThread = nullptr;

namespace {

struct FatalSignal {
  int number;
  const char *name;
};
constexpr FatalSignal fatalSignals[] = {{SIGSEGV, "SIGSEGV"},
                                        {SIGBUS, "SIGBUS"},
                                        {SIGFPE, "SIGFPE"},
                                        {SIGILL, "SIGILL"}};

} // namespace

/// A rank holds no lock and no memory of its own when compiled code runs, so
/// that leaving it here is as good as leaving it in a call of the API. A
/// helper cannot leave the rank's step, and stops.
void HostRank::onFatalSignal(int number) {
  HostRank *rank = rankOfThread;
  if (!rank) {
    signal(number, SIG_DFL); // comes again as soon as the handler returns
    return;
  }
  rankOfThread = nullptr;
  for (const FatalSignal &signal : fatalSignals)
    if (signal.number == number)
      rank->fail(format("killed by %s", signal.name).c_str());
  if (pthread_equal(pthread_self(), rank->thread))
    weft_rt_leave(&rank->home);
  while (true)
    pause();
}

void failRanksOnSignals() {
  struct sigaction action = {};
  action.sa_handler = HostRank::onFatalSignal;
  action.sa_flags = SA_NODEFER; // the handler may be left by a jump
  for (const FatalSignal &signal : fatalSignals)
    sigaction(signal.number, &action, nullptr);
}

// ---- collectives -----------------------------------------------------------

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

Status HostRank::statusOf(Meeting outcome, const weft_rt_collective &collective,
                          const Seat &seat) const {
  if (outcome == Meeting::Complete)
    return Status();
  if (outcome == Meeting::Broken)
    return follow();
  return rankFailed(format(
      "%s on %s: rank %lld waited %g s for %s, in the group of %s",
      collectiveName(collective).c_str(), channelName(collective).c_str(),
      (long long)self.rank, world.options.deadlineSeconds,
      listRanks(seat.group->missing(seat.index)).c_str(),
      listRanks(seat.group->members()).c_str()));
}

/// All members must mean the same collective, before anybody's buffer is read
/// with anybody else's sizes.
Status HostRank::checkMembers(const weft_rt_collective &collective,
                              const Seat &seat) {
  for (int64_t i = 0; i < seat.group->size(); ++i) {
    const weft_rt_collective &other = seat.group->collectiveOf(i);
    if (&other == &collective)
      continue;
    std::string difference =
        differenceOf(collective, other, seat.group->size());
    if (!difference.empty())
      return rankFailed(format(
          "ranks disagree on %s: rank %lld started %s, rank %lld started %s: "
          "%s",
          channelName(collective).c_str(), (long long)self.rank,
          collectiveName(collective).c_str(),
          (long long)seat.group->members()[i], collectiveName(other).c_str(),
          difference.c_str()));
  }
  return Status();
}

/// Does parts of a collective's work until none is left. As long as a part is
/// taken, what the members published stays.
Status HostRank::work(const weft_rt_collective &collective, const Seat &seat) {
  Group &group = *seat.group;
  int64_t part = group.takePart();
  if (part >= 0)
    WEFT_RT_RETURN_IF_ERROR(checkMembers(collective, seat));
  for (; part >= 0; part = group.takePart()) {
    movePart({&collective, group.buffers(), inputs.data(), group.size(), part});
    group.finishPart();
  }
  return Status();
}

/// Meets the others, takes part in the work, and waits for its end. `moving`
/// receives the nanoseconds of work, when somebody wants to know.
Status HostRank::exchange(const weft_rt_collective &collective,
                          const Seat &seat, int64_t &moving) {
  Group &group = *seat.group;
  Meeting outcome =
      group.meet(seat.index, world.spins, now() + world.deadlineNanoseconds);
  WEFT_RT_RETURN_IF_ERROR(statusOf(outcome, collective, seat));
  Moment begin = log.moment();
  WEFT_RT_RETURN_IF_ERROR(work(collective, seat));
  moving = log.moment().wall - begin.wall;
  outcome = group.awaitEnd(world.spins, now() + world.deadlineNanoseconds);
  return statusOf(outcome, collective, seat);
}

namespace {

Status checkReduction(const weft_rt_collective &collective) {
  if (collective.kind != WEFT_RT_REDUCE_SCATTER &&
      collective.kind != WEFT_RT_ALL_REDUCE)
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

Status HostRank::perform(const weft_rt_collective &collective,
                         const void *const *in, void *const *out) {
  if (collective.channel < 0 || collective.channel >= program.num_channels)
    return invalid(format("collective names channel %d of %d",
                          collective.channel, program.num_channels));
  Moment begin = log.moment();
  int64_t moving = 0;
  WEFT_RT_RETURN_IF_ERROR(injectFault(collective, log.start(collective)));
  const Seat &seat = seats[collective.channel];
  WEFT_RT_RETURN_IF_ERROR(
      checkCollective(collective, seat.group->size(), in, out));
  WEFT_RT_RETURN_IF_ERROR(checkReduction(collective));
  seat.group->enter(seat.index, collective, {in, out});
  entered = seat.group;
  Status status = exchange(collective, seat, moving);
  if (!status.ok())
    world.fail(status);
  entered = nullptr;
  seat.group->leave(!status.ok());
  if (!status.ok())
    return status;
  int64_t bytes = receivedBytes(collective, seat.group->size(), seat.index);
  log.finish(collective, bytes);
  log.record(WEFT_RT_IN_COLLECTIVE, &collective, begin,
             log.moment().wall - begin.wall - moving, bytes);
  return Status();
}

int64_t HostRank::startCollective(const weft_rt_collective &collective,
                                  const void *const *in, void *const *out) {
  Status status = perform(collective, in, out);
  int64_t ticket = lastTicket + 1;
  if (status.ok() && openTickets[ticket % maxTickets] != 0)
    status = invalid(format("more than %lld collectives are in flight",
                            (long long)maxTickets));
  if (!status.ok()) {
    if (status.code() != WEFT_RT_RANK_FAILED)
      status = rankFailed(format("rank %lld: ", (long long)self.rank) +
                          status.message());
    world.fail(status);
    return -1;
  }
  openTickets[ticket % maxTickets] = ticket;
  lastTicket = ticket;
  ++open;
  return ticket;
}

bool HostRank::wait(int64_t ticket) {
  if (ticket < 1 || openTickets[ticket % maxTickets] != ticket) {
    world.fail(rankFailed(format("rank %lld waits for ticket %lld, which is "
                                 "not in flight",
                                 (long long)self.rank, (long long)ticket)));
    return false;
  }
  openTickets[ticket % maxTickets] = 0;
  --open;
  return true;
}

// ---- compute ---------------------------------------------------------------

bool HostRank::gemm(const weft_rt_gemm &desc, const void *a, const void *b,
                    void *c) {
  if (const char *reason = gemmUnsupportedReason(desc)) {
    world.fail(rankFailed(
        format("rank %lld: gemm: %s", (long long)self.rank, reason)));
    return false;
  }
  Moment begin = log.moment();
  ParallelFor parallelFor;
  parallelFor.numThreads = team.size();
  parallelFor.ctx = &team;
  parallelFor.run = runPieces;
  rt::gemm(desc, a, b, c, parallelFor);
  log.record(WEFT_RT_IN_GEMM, &desc, begin);
  return true;
}

void HostRank::launch(weft_rt_kernel kernel, void *const *buffers,
                      int64_t extent, int64_t grain) {
  Moment begin = log.moment();
  team.launch(kernel, buffers, extent, grain);
  log.record(WEFT_RT_IN_KERNEL, reinterpret_cast<const void *>(kernel), begin);
}

void HostRank::fail(const char *message) {
  world.fail(rankFailed(format("rank %lld: %s", (long long)self.rank,
                               message ? message : "failed")));
}

// ---- the table -------------------------------------------------------------
//
// These functions are the frames that weft_rt_leave jumps over: they must hold
// nothing that has a destructor.

namespace {

HostRank &hostRank(weft_rt_rank *rank) {
  return *static_cast<HostRank *>(rank->session);
}

void apiGemm(weft_rt_rank *rank, const weft_rt_gemm *desc, const void *a,
             const void *b, void *c) {
  if (!hostRank(rank).gemm(*desc, a, b, c))
    weft_rt_leave(&hostRank(rank).homeBuffer());
}

void apiLaunch(weft_rt_rank *rank, weft_rt_kernel kernel, void *const *buffers,
               int64_t extent, int64_t grain) {
  hostRank(rank).launch(kernel, buffers, extent, grain);
}

int64_t apiStart(weft_rt_rank *rank, const weft_rt_collective *collective,
                 const void *const *in, void *const *out) {
  int64_t ticket = hostRank(rank).startCollective(*collective, in, out);
  if (ticket < 0)
    weft_rt_leave(&hostRank(rank).homeBuffer());
  return ticket;
}

void apiWait(weft_rt_rank *rank, int64_t ticket) {
  if (!hostRank(rank).wait(ticket))
    weft_rt_leave(&hostRank(rank).homeBuffer());
}

void apiFail(weft_rt_rank *rank, const char *message) {
  hostRank(rank).fail(message);
  weft_rt_leave(&hostRank(rank).homeBuffer());
}

constexpr weft_rt_api apiTable = {WEFT_RT_ABI_VERSION,
                                  sizeof(weft_rt_api),
                                  apiGemm,
                                  apiLaunch,
                                  apiStart,
                                  apiWait,
                                  apiFail};

} // namespace

const weft_rt_api &HostWorld::api() const { return apiTable; }

} // namespace weft::rt
