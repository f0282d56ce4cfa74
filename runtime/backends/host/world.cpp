// SPDX-License-Identifier: Apache-2.0

// Threads, groups and failure of the host backend.

#include "backends/host/world.h"

#include "backends/host/cores.h"
#include "backends/host/futex.h"
#include "backends/host/host.h"
#include "backends/host/rank.h"
#include "core/types.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace weft::rt {
namespace {

int threadsOf(const BackendOptions &options) {
  return options.threads > 0 ? options.threads : coreCount();
}

/// Spins before sleeping: about 20 microseconds where every thread has a core,
/// none where threads must share.
int spinsFor(int64_t threads) { return threads <= coreCount() ? 1000 : 0; }

} // namespace

HostWorld::HostWorld(const BackendOptions &given)
    : options(given), program(*options.programs[0]),
      teamSize(std::max(1, threadsOf(options) / program.num_ranks)),
      spins(spinsFor(int64_t(teamSize) * program.num_ranks)),
      deadlineNanoseconds(int64_t(options.deadlineSeconds * 1e9)) {
  createGroups();
  for (int64_t rank = 0; rank < program.num_ranks; ++rank)
    ranks.push_back(std::make_unique<HostRank>(*this, rank));
  for (int64_t rank = 0; rank < program.num_ranks; ++rank)
    rankIds.push_back(rank);
}

HostWorld::~HostWorld() {
  task = nullptr;
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  for (auto &rank : ranks)
    rank->join();
  workers.clear();
}

GroupOptions HostWorld::groupOptions(int32_t channel) {
  GroupOptions result;
  result.channel = program.channels[channel].name;
  // Where all threads have a core, all members may as well help.
  result.helpers = spins > 0 ? INT_MAX : coreCount() - 1;
  bool isPerturbed = options.perturbSeed != 0;
  result.keepsTimes = link || options.traceEvents > 0;
  result.workerOnly = link || isPerturbed;
  result.isLazy = isPerturbed;
  result.link = link.get();
  result.channelIndex = channel;
  result.fail = [this](Status failure) { fail(std::move(failure)); };
  return result;
}

void HostWorld::createGroups() {
  if (!options.links.empty())
    link = std::make_unique<LinkModel>(options.links, options.sharesLink,
                                       program.num_ranks);
  for (int32_t i = 0; i < program.num_channels; ++i) {
    layout.push_back(groupsOf(program, program.channels[i]));
    groups.emplace_back();
    for (const std::vector<int64_t> &members : layout.back().groups) {
      GroupOptions chosen = groupOptions(i);
      // Alone, a rank has nobody to wait for and no link to use.
      if (members.size() == 1) {
        chosen.workerOnly = chosen.isLazy = false;
        chosen.link = nullptr;
      }
      groups.back().push_back(std::make_unique<Group>(members, chosen));
      if (members.size() > 1)
        workers.push_back(
            std::make_unique<Worker>(*groups.back().back(), options.perturbSeed,
                                     program.num_ranks + workers.size()));
    }
  }
}

/// More threads than that only get in each other's way, and a slip of a finger
/// must not bring the machine down.
Status HostWorld::checkThreads() const {
  int32_t most = std::max(4 * coreCount(), program.num_ranks);
  if (options.threads <= most || options.forcesThreads)
    return Status();
  return invalid(
      format("%d threads are more than the %d that make sense for %d "
             "ranks on %d cores; force_threads (--force-threads) "
             "allows them",
             options.threads, most, program.num_ranks, coreCount()));
}

Status HostWorld::checkPrograms() const {
  for (const weft_rt_program *one : options.programs)
    for (int32_t i = 0; i < one->num_kernels; ++i)
      if (!one->kernels[i].function)
        return Status(WEFT_RT_INCOMPATIBLE,
                      format("program %s, which is for the backend %s, cannot "
                             "run on the host: its kernel %s is no function",
                             quote(one->name).c_str(),
                             quote(one->backend).c_str(),
                             quote(one->kernels[i].name).c_str()));
  return Status();
}

Status HostWorld::start() {
  WEFT_RT_RETURN_IF_ERROR(checkPrograms());
  WEFT_RT_RETURN_IF_ERROR(checkThreads());
  for (auto &worker : workers)
    WEFT_RT_RETURN_IF_ERROR(worker->start());
  for (auto &rank : ranks)
    WEFT_RT_RETURN_IF_ERROR(rank->start());
  return Status();
}

RankLog &HostWorld::log(int64_t rank) { return ranks[rank]->log; }

/// Runs `work(rank)` on the ranks' own threads: pages of memory belong to who
/// touches them first.
Outcome HostWorld::runOnRanks(const std::function<void(int64_t)> &work) {
  return run(
      [](void *context, weft_rt_rank *rank) {
        (*static_cast<const std::function<void(int64_t)> *>(context))(
            rank->rank);
      },
      const_cast<std::function<void(int64_t)> *>(&work));
}

Result<std::vector<void *>>
HostWorld::allocate(const std::vector<int64_t> &bytes) {
  std::vector<void *> places;
  for (int64_t rank : rankIds) {
    memory.push_back(std::make_unique<Mapping>());
    WEFT_RT_RETURN_IF_ERROR(
        memory.back()->map(bytes[rank], format("rank %lld", (long long)rank)));
    places.push_back(memory.back()->data());
  }
  Outcome outcome = runOnRanks([&](int64_t rank) { memory[rank]->touch(); });
  // Who ended it by a poll waits to be told, also if all is touched.
  WEFT_RT_RETURN_IF_ERROR(std::move(outcome.status));
  return places;
}

Outcome HostWorld::upload(weft_rt_type type, const std::vector<Shard> &shards,
                          const void *global) {
  return runOnRanks([&](int64_t rank) {
    for (const Shard &shard : shards)
      if (shard.rank == rank)
        cutRegion(type, shard.region, global, shard.local);
  });
}

Outcome HostWorld::download(weft_rt_type type, const std::vector<Shard> &shards,
                            void *global) {
  // Parts that meet within a byte come one after the other.
  if (!hasWholeBytes(type)) {
    for (const Shard &shard : shards)
      joinRegion(type, shard.region, shard.local, global);
    return Outcome();
  }
  return runOnRanks([&](int64_t rank) {
    for (const Shard &shard : shards)
      if (shard.rank == rank)
        joinRegion(type, shard.region, shard.local, global);
  });
}

Outcome HostWorld::fill(const std::vector<Block> &blocks, uint8_t value) {
  return runOnRanks([&](int64_t rank) {
    for (const Block &block : blocks)
      if (block.rank == rank)
        std::memset(block.data, value, size_t(block.bytes));
  });
}

Outcome HostWorld::run(RankTask newTask, void *newContext) {
  if (hasFailed())
    return {failureOrSuccess(), false};
  task = newTask;
  context = newContext;
  running.store(ranks.size(), std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  bool isInterrupted = false;
  if (!awaitRanks(isInterrupted)) {
    stuck = true;
    Status first = failureOrSuccess();
    return {Status(first.code(),
                   first.message() + "; some ranks did not stop after that"),
            false};
  }
  if (hasFailed()) {
    awaitQuiet();
    return {failureOrSuccess(), false};
  }
  if (isInterrupted)
    return {Status(WEFT_RT_INTERRUPTED, "interrupted after a whole step"),
            true};
  return Outcome();
}

/// Waits for the ranks to finish the task. After a failure they have as long as
/// a rendezvous has; false when that passed too. Who wishes to end the task
/// waits a moment for it to end by itself, and then a moment for the ranks to
/// stop.
bool HostWorld::awaitRanks(bool &isInterrupted) {
  constexpr int64_t pollNanoseconds = 50'000'000, patience = 400'000'000;
  int64_t lastMoment = never, breakMoment = never;
  while (uint32_t left = running.load(std::memory_order_acquire)) {
    int64_t time = now();
    if (!isInterrupted && options.poll && options.poll(options.pollContext)) {
      isInterrupted = true;
      breakMoment = time + patience;
    }
    if (time >= breakMoment && !hasFailed())
      fail(Status(WEFT_RT_INTERRUPTED, "interrupted in the middle of a step"));
    if (hasFailed() && lastMoment == never)
      lastMoment =
          time + (isInterrupted ? std::min(patience, deadlineNanoseconds)
                                : deadlineNanoseconds);
    if (time >= lastMoment)
      return false;
    waitWhile(running, left, spins, time + pollNanoseconds);
  }
  return true;
}

Status HostWorld::failureOrSuccess() {
  std::lock_guard<std::mutex> guard(failureLock);
  return failure;
}

void HostWorld::fail(Status newFailure) {
  {
    std::lock_guard<std::mutex> guard(failureLock);
    if (failure.ok())
      failure = std::move(newFailure);
  }
  failed.store(1, std::memory_order_release);
  wakeAll(failed);
  for (auto &channel : groups)
    for (auto &group : channel)
      group->breakUp();
}

/// The caller may free memory that was in flight when the ranks have stopped.
void HostWorld::awaitQuiet() const {
  for (auto &channel : groups)
    for (auto &group : channel)
      group->awaitQuiet();
}

void HostWorld::awaitFailure() { waitWhile(failed, 0, 0, never); }

Result<std::unique_ptr<Backend>>
createHostBackend(const BackendOptions &options) {
  auto world = std::make_unique<HostWorld>(options);
  WEFT_RT_RETURN_IF_ERROR(world->start());
  if (options.catchesSignals)
    HostRank::failOnSignals();
  return std::unique_ptr<Backend>(std::move(world));
}

} // namespace weft::rt
