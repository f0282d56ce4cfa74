// SPDX-License-Identifier: Apache-2.0

// Threads, groups and failure of the host backend.

#include "host/world.h"

#include "core/cores.h"
#include "host/futex.h"
#include "host/rank.h"

#include <algorithm>
#include <climits>

namespace weft::rt {
namespace {

/// Spins before sleeping: about 20 microseconds where every thread has a core,
/// none where threads must share.
int spinsFor(int64_t threads) { return threads <= coreCount() ? 1000 : 0; }

} // namespace

HostWorld::HostWorld(const BackendOptions &given)
    : options(given), program(*options.programs[0]),
      teamSize(std::max(1, options.threads / program.num_ranks)),
      spins(spinsFor(int64_t(teamSize) * program.num_ranks)),
      deadlineNanoseconds(int64_t(options.deadlineSeconds * 1e9)) {
  createGroups();
  for (int64_t rank = 0; rank < program.num_ranks; ++rank)
    ranks.push_back(std::make_unique<HostRank>(*this, rank));
}

HostWorld::~HostWorld() {
  task = nullptr;
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  for (auto &rank : ranks)
    rank->join();
}

void HostWorld::createGroups() {
  // Where all threads have a core, all members may as well help.
  int helpers = spins > 0 ? INT_MAX : coreCount() - 1;
  for (int32_t i = 0; i < program.num_channels; ++i) {
    layout.push_back(groupsOf(program, program.channels[i]));
    groups.emplace_back();
    for (const std::vector<int64_t> &members : layout.back().groups)
      groups.back().push_back(std::make_unique<Group>(members, helpers));
  }
}

Status HostWorld::start() {
  for (auto &rank : ranks)
    WEFT_RT_RETURN_IF_ERROR(rank->start());
  return Status();
}

RankLog &HostWorld::log(int64_t rank) { return ranks[rank]->log; }

Status HostWorld::run(weft_rt_task newTask, void *newContext) {
  if (failed.load(std::memory_order_acquire))
    return failureOrSuccess();
  task = newTask;
  context = newContext;
  running.store(ranks.size(), std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  if (!awaitRanks()) {
    stuck = true;
    Status first = failureOrSuccess();
    return Status(first.code(),
                  first.message() + "; some ranks did not stop after that");
  }
  return failureOrSuccess();
}

/// Waits for the ranks to finish the task. After a failure they have as long as
/// a rendezvous has; false when that passed too.
bool HostWorld::awaitRanks() {
  constexpr int64_t pollNanoseconds = 50'000'000;
  int64_t lastMoment = never;
  while (uint32_t left = running.load(std::memory_order_acquire)) {
    if (failed.load(std::memory_order_acquire) && lastMoment == never)
      lastMoment = now() + deadlineNanoseconds;
    if (now() >= lastMoment)
      return false;
    waitWhile(running, left, spins, now() + pollNanoseconds);
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

void HostWorld::awaitFailure() { waitWhile(failed, 0, 0, never); }

Result<std::unique_ptr<Backend>>
createHostBackend(const BackendOptions &options) {
  auto world = std::make_unique<HostWorld>(options);
  WEFT_RT_RETURN_IF_ERROR(world->start());
  return std::unique_ptr<Backend>(std::move(world));
}

} // namespace weft::rt
