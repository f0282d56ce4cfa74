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

Status HostWorld::start() {
  for (auto &worker : workers)
    WEFT_RT_RETURN_IF_ERROR(worker->start());
  for (auto &rank : ranks)
    WEFT_RT_RETURN_IF_ERROR(rank->start());
  return Status();
}

RankLog &HostWorld::log(int64_t rank) { return ranks[rank]->log; }

Status HostWorld::run(weft_rt_task newTask, void *newContext, bool &isWhole) {
  isWhole = false;
  if (hasFailed())
    return failureOrSuccess();
  task = newTask;
  context = newContext;
  running.store(ranks.size(), std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  bool isInterrupted = false;
  if (!awaitRanks(isInterrupted)) {
    stuck = true;
    Status first = failureOrSuccess();
    return Status(first.code(),
                  first.message() + "; some ranks did not stop after that");
  }
  if (hasFailed()) {
    awaitQuiet();
    return failureOrSuccess();
  }
  isWhole = true;
  return isInterrupted
             ? Status(WEFT_RT_INTERRUPTED, "interrupted after a whole step")
             : Status();
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
  return std::unique_ptr<Backend>(std::move(world));
}

} // namespace weft::rt
