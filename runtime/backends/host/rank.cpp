// SPDX-License-Identifier: Apache-2.0

// A rank's thread sleeps between tasks. Within a task, compiled code calls the
// functions of core/rank_api.h, which return to it only on success.

#include "backends/host/rank.h"

#include "backends/host/attention/attention.h"
#include "backends/host/copy.h"
#include "backends/host/futex.h"
#include "backends/host/gemm/gemm.h"
#include "contract/attention_reason.h"
#include "contract/gemm_reason.h"
#include "core/copy_reason.h"
#include "core/manifest.h"
#include "core/rank_api.h"
#include "core/types.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>

namespace weft::rt {
namespace {

Status rankFailed(std::string message) {
  return Status(WEFT_RT_RANK_FAILED, std::move(message));
}

void runPieces(void *team, int64_t pieces, void (*body)(void *, int64_t),
               void *context) {
  static_cast<Team *>(team)->run(pieces, body, context);
}

ParallelFor parallelForTeam(Team &team) {
  ParallelFor parallelFor;
  parallelFor.numThreads = team.size();
  parallelFor.ctx = &team;
  parallelFor.run = runPieces;
  return parallelFor;
}

} // namespace

HostRank::HostRank(HostWorld &world, int64_t rank)
    : log(*world.options.programs[rank], world.options.traceEvents,
          world.options.profile),
      world(world), self{rank, this}, program(*world.options.programs[rank]),
      tickets(program.max_operands), streams(program),
      lastStarted(size_t(program.num_channels)),
      recorded(size_t(program.num_events)),
      perturbation(world.options.perturbSeed, rank) {
  int64_t largest = 1;
  for (size_t channel = 0; channel < world.groups.size(); ++channel) {
    Membership place = world.layout[channel].ofRank[rank];
    Group *group = world.groups[channel][place.group].get();
    seats.push_back({group, place.index});
    largest = std::max(largest, group->size());
  }
  mover.inputs.resize(largest);
  mover.keepsTime = world.options.profile;
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
/// bytes. False: it has not the memory that it needs, and the rank has failed.
bool HostRank::prepareThread(int member) {
  std::string name = format("weft rank %lld", (long long)self.rank);
  if (member > 0)
    name += format(".%d", member);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (gemmReserveWorkspace() && attentionReserveWorkspace())
    return true;
  world.fail(Status(WEFT_RT_NO_MEMORY,
                    format("rank %lld: cannot allocate what a thread needs for "
                           "contractions and attention",
                           (long long)self.rank)));
  return false;
}

bool HostRank::prepareHelper(void *rank, int member) {
  auto &owner = *static_cast<HostRank *>(rank);
  rankOfThread = &owner;
  return owner.prepareThread(member);
}

void HostRank::serve() {
  bool isReady = prepareThread(0);
  if (world.link)
    wakeExactly();
  uint32_t seen = 0;
  while (true) {
    waitWhile(world.epoch, seen, world.spins, never);
    ++seen;
    if (!world.task)
      return;
    if (isReady)
      runTask();
    if (world.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wakeAll(world.running);
  }
}

void HostRank::runTask() {
  rankOfThread = this;
  streams.begin();
  lastStarted.assign(lastStarted.size(), InFlight());
  bool returned = weft_rt_enter(&home, world.task, world.context, &self);
  rankOfThread = nullptr;
  if (returned && tickets.open() > 0)
    world.fail(
        rankFailed(format("rank %lld ended the step with %lld "
                          "collectives not waited for",
                          (long long)self.rank, (long long)tickets.open())));
}

void HostRank::leave() {
  // Others may be moving data from and to frames that are left.
  for (const Seat &seat : seats) {
    seat.group->breakUp();
    seat.group->awaitQuiet();
  }
  weft_rt_leave(&home);
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

/// A rank holds no lock and no memory of its own when compiled code runs or
/// data is moved, so that leaving it here is as good as leaving it in a call of
/// the API. The same goes for helpers and workers, which give up what they were
/// doing.
void HostRank::onFatalSignal(int number, siginfo_t *info, void *) {
  // Nothing is wrong with a rank if a process sent the signal, as kill does.
  if (info->si_code <= 0) {
    signal(number, SIG_DFL);
    raise(number);
  }
  const char *name = "a signal";
  for (const FatalSignal &signal : fatalSignals)
    if (signal.number == number)
      name = signal.name;
  if (Worker *worker = Worker::current())
    worker->onKilled(name);
  if (HostRank *rank = rankOfThread)
    rank->onKilled(name);
  else
    signal(number, SIG_DFL); // comes again as soon as the handler returns
}

void HostRank::onKilled(const char *signalName) {
  bool isOwnThread = pthread_equal(pthread_self(), thread);
  if (isOwnThread && mover.inside)
    mover.inside->abandon();
  fail(format("killed by %s", signalName).c_str());
  if (!isOwnThread)
    Team::onHelperKilled();
  mover.inside = nullptr;
  rankOfThread = nullptr;
  leave();
}

void HostRank::failOnSignals() {
  struct sigaction action = {};
  action.sa_sigaction = onFatalSignal;
  // The handler may be left by a jump.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (const FatalSignal &signal : fatalSignals)
    sigaction(signal.number, &action, nullptr);
}

// ---- compute ---------------------------------------------------------------

bool HostRank::gemm(int32_t op, const weft_rt_gemm &desc, const void *a,
                    const void *b, void *c) {
  if (const char *reason = gemmReason(desc)) {
    world.fail(rankFailed(
        format("rank %lld: gemm: %s", (long long)self.rank, reason)));
    return false;
  }
  if (!check(streams.checkComputes("a contraction")))
    return false;
  Moment begin = log.moment();
  perturbation.delay();
  rt::gemm(desc, a, b, c, parallelForTeam(team));
  log.record(SpanKind::Gemm, WEFT_RT_IN_GEMM, op, &desc, begin);
  return team.size() == 1 || !world.hasFailed();
}

bool HostRank::attention(int32_t op, const weft_rt_attention &desc,
                         void *const *buffers, int64_t queryStart) {
  const char *reason = attentionReason(desc);
  if (!reason)
    reason = attentionBuffersReason(desc, buffers);
  if (reason) {
    world.fail(rankFailed(
        format("rank %lld: attention: %s", (long long)self.rank, reason)));
    return false;
  }
  if (!check(streams.checkComputes("attention")))
    return false;
  Moment begin = log.moment();
  perturbation.delay();
  rt::attention(desc, buffers, queryStart, parallelForTeam(team));
  log.record(SpanKind::Attention, WEFT_RT_IN_ATTENTION, op, &desc, begin);
  return team.size() == 1 || !world.hasFailed();
}

bool HostRank::launch(int32_t op, const weft_rt_launch &launch,
                      void *const *buffers, const int64_t *scalars) {
  if (Status bad = checkLaunch(program, launch, /*numConfig=*/2); !bad.ok()) {
    world.fail(rankFailed(
        format("rank %lld %s", (long long)self.rank, bad.message().c_str())));
    return false;
  }
  if (!catchUp())
    return false;
  const weft_rt_kernel_entry &entry = program.kernels[launch.kernel];
  Moment begin = log.moment();
  perturbation.delay();
  team.launch(entry.function, buffers, scalars, /*extent=*/launch.config[0],
              /*grain=*/launch.config[1]);
  log.record(SpanKind::Kernel, WEFT_RT_IN_KERNEL, op, &entry, begin);
  return team.size() == 1 || !world.hasFailed();
}

bool HostRank::copy(int32_t op, const weft_rt_copy &copy, const void *source,
                    void *target) {
  if (const char *reason = copyReason(copy)) {
    world.fail(rankFailed(
        format("rank %lld: copy: %s", (long long)self.rank, reason)));
    return false;
  }
  if (!catchUp())
    return false;
  Moment begin = log.moment();
  perturbation.delay();
  copyElements(copy, source, target);
  log.record(SpanKind::Copy, WEFT_RT_IN_COPY, op, &copy, begin);
  return true;
}

bool HostRank::readScalar(int32_t, weft_rt_type type, const void *source,
                          int64_t &value) {
  if (!isKnownType(type) || !hasWholeBytes(type)) {
    world.fail(rankFailed(format("rank %lld reads a scalar of type %d",
                                 (long long)self.rank, int(type))));
    return false;
  }
  if (!check(streams.checkComputes("a read of a scalar")))
    return false;
  value = loadScalar(type, source);
  return true;
}

void HostRank::fail(const char *message) {
  world.fail(rankFailed(format("rank %lld: %s", (long long)self.rank,
                               message ? message : "failed")));
}

const weft_rt_api &HostWorld::api() const { return rankApi<HostRank>; }

} // namespace weft::rt
