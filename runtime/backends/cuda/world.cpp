// SPDX-License-Identifier: Apache-2.0

// Devices, groups, threads and failure of the CUDA backend.

#include "backends/cuda/world.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/nccl_group.h"
#include "backends/cuda/polling.h"
#include "backends/cuda/rank.h"
#include "backends/cuda/sharing.h"
#include "core/memory_layout.h"
#include "core/types.h"

#include <algorithm>
#include <chrono>

namespace weft::rt::cuda {
namespace {

constexpr auto shortWhile = std::chrono::milliseconds(50);

std::string gibibytes(int64_t bytes) {
  return format("%.2f GiB", double(bytes) / double(int64_t(1) << 30));
}

} // namespace

CudaWorld::CudaWorld(const BackendOptions &given)
    : options(given), program(*options.programs[0]) {
  int64_t each = program.num_ranks / options.place.count;
  for (int64_t i = 0; i < each; ++i)
    rankIds.push_back(options.place.process * each + i);
}

CudaWorld::~CudaWorld() {
  if (others)
    others->listen(nullptr);
  {
    std::lock_guard<std::mutex> guard(lock);
    isEnding = true;
    ++epoch;
    changed.notify_all();
  }
  for (auto &rank : ranks)
    rank->join();
  if (isWatched)
    pthread_join(watchdog, nullptr);
  forEachGroup([](Group &group) { group.deregisterMemory(); });
  ranks.clear();
  groups.clear();
  contractions.clear();
  devices.clear();
  others = nullptr; // says that all is done here
}

// ---- before the first step -------------------------------------------------

Status CudaWorld::checkOptions() const {
  if (!options.links.empty())
    return invalid("a link (--link) is given, which the backend 'cuda' does "
                   "not slow down: it is the host's");
  return Status();
}

/// What is known before the first step.
std::string CudaWorld::whyNoGraphs() const {
  if (!options.graphs)
    return "--no-graphs";
  if (options.profile || options.traceEvents > 0)
    return "a profile or a trace is kept, of call by call";
  if (!options.faults.empty() || options.perturbSeed != 0)
    return "faults or delays are asked for, call by call";
  for (const auto &channel : groups)
    for (const auto &group : channel)
      if (group && group->size() > 1 && !needsId(group->members()))
        return "ranks share a GPU, and the last one to start a collective "
               "enqueues it for all";
  return "";
}

GraphReport CudaWorld::graphs() const {
  GraphReport report;
  report.canCapture = true;
  report.reason = graphReason;
  for (const Rehearsal &rehearsal : rehearsals)
    report.readsScalars = report.readsScalars || !rehearsal.isWhole;
  for (const auto &rank : ranks)
    rank->report(report);
  return report;
}

Status CudaWorld::rehearseAll() {
  for (int64_t rank : rankIds) {
    Result<Rehearsal> rehearsal = rehearse(*options.programs[rank], rank);
    if (!rehearsal.ok())
      return rehearsal.status();
    rehearsals.push_back(std::move(*rehearsal));
  }
  return Status();
}

/// Bytes of scratch that a channel's collectives need, as far as rehearsed.
int64_t CudaWorld::scratchOf(int32_t channel, int64_t size) const {
  int64_t most = 0;
  for (const Rehearsal &rehearsal : rehearsals)
    for (const weft_rt_collective *collective : rehearsal.collectives)
      if (collective->channel == channel)
        most = std::max(most, scratchBytes(*collective, size));
  return most;
}

bool CudaWorld::isHere(int64_t rank) const {
  return rank >= rankIds.front() && rank <= rankIds.back();
}

/// The device of a rank, or null: it is in another process.
Device *CudaWorld::deviceOf(int64_t rank) const {
  if (!isHere(rank))
    return nullptr;
  return devices[size_t(rank - rankIds[0]) % devices.size()].get();
}

Result<std::unique_ptr<Group>>
CudaWorld::openGroup(int32_t channel, const std::vector<int64_t> &members,
                     const UniqueId &id) {
  std::string name = program.channels[channel].name;
  if (!needsId(members))
    return SharingGroup::create(*deviceOf(members[0]), members, name,
                                program.max_operands);
  Result<const NcclApi *> ncclApi = loadNccl();
  if (!ncclApi.ok())
    return ncclApi.status();
  NcclGroupOptions given = {
      {},          members,
      name,        scratchOf(channel, int64_t(members.size())),
      id,          options.deadlineSeconds,
      others.get()};
  for (int64_t rank : members)
    given.devices.push_back(deviceOf(rank));
  return NcclGroup::create(**ncclApi, given);
}

/// Groups without members here are null.
Status CudaWorld::openGroups() {
  for (int32_t i = 0; i < program.num_channels; ++i)
    layout.push_back(groupsOf(program, program.channels[i]));
  Result<std::vector<UniqueId>> ids = shareIds();
  if (!ids.ok())
    return ids.status();
  size_t next = 0;
  for (int32_t i = 0; i < program.num_channels; ++i) {
    groups.emplace_back();
    for (const std::vector<int64_t> &members : layout[size_t(i)].groups) {
      const UniqueId &id = (*ids)[next++];
      groups.back().emplace_back();
      if (std::none_of(members.begin(), members.end(),
                       [&](int64_t rank) { return isHere(rank); }))
        continue;
      Result<std::unique_ptr<Group>> group = openGroup(i, members, id);
      if (!group.ok())
        return group.status();
      groups.back().back() = std::move(*group);
    }
  }
  return Status();
}

/// Says that a device is too small before anything is allocated on it. What the
/// ranks need is known: their tensors and arena.
Status CudaWorld::checkMemory(const std::vector<int64_t> &bytes) const {
  for (size_t i = 0; i < devices.size(); ++i) {
    CurrentContext current(*devices[i]);
    size_t free = 0, total = 0;
    WEFT_CUDA_CALL(*driverApi, cuMemGetInfo_v2, &free, &total);
    int64_t needed = 0, number = 0;
    for (size_t rank = i; rank < bytes.size(); rank += devices.size()) {
      needed += bytes[rank]; // of local ranks
      ++number;
    }
    if (needed > int64_t(free))
      return Status(
          WEFT_RT_NO_MEMORY,
          format("%lld of the program's ranks need %s (%lld bytes) on %s, "
                 "which has %s of %s free: use more GPUs, or compile with a "
                 "smaller batch or --memory-limit",
                 (long long)number, gibibytes(needed).c_str(),
                 (long long)needed, devices[i]->describe().c_str(),
                 gibibytes(int64_t(free)).c_str(),
                 gibibytes(int64_t(total)).c_str()));
  }
  return Status();
}

Status CudaWorld::startThreads() {
  for (auto &rank : ranks)
    WEFT_RT_RETURN_IF_ERROR(rank->startThread());
  if (pthread_create(&watchdog, nullptr, watchdogMain, this) != 0)
    return Status(WEFT_RT_NO_MEMORY, "cannot start the watchdog's thread");
  isWatched = true;
  return Status();
}

/// What needs no other process.
Status CudaWorld::startHere() {
  WEFT_RT_RETURN_IF_ERROR(openDevices());
  WEFT_RT_RETURN_IF_ERROR(rehearseAll());
  std::vector<int64_t> bytes;
  for (int64_t rank : rankIds)
    bytes.push_back(layoutOf(*options.programs[size_t(rank)]).totalBytes);
  return checkMemory(bytes);
}

Status CudaWorld::start() {
  WEFT_RT_RETURN_IF_ERROR(checkOptions());
  WEFT_RT_RETURN_IF_ERROR(join());
  WEFT_RT_RETURN_IF_ERROR(meet(startHere()));
  WEFT_RT_RETURN_IF_ERROR(openGroups());
  graphReason = whyNoGraphs();
  for (size_t i = 0; i < rankIds.size(); ++i) {
    size_t device = i % devices.size();
    ranks.push_back(
        std::make_unique<CudaRank>(*this, rankIds[i], *devices[device],
                                   *contractions[device], *attentions[device]));
    WEFT_RT_RETURN_IF_ERROR(ranks.back()->prepare(rehearsals[i]));
  }
  WEFT_RT_RETURN_IF_ERROR(startThreads());
  if (others)
    others->listen(this);
  return Status();
}

void CudaWorld::forEachGroup(const std::function<void(Group &)> &visit) {
  for (auto &channel : groups)
    for (auto &group : channel)
      if (group)
        visit(*group);
}

/// A rank's buffers are one allocation, which each of its communicators knows.
Status CudaWorld::registerMemory(const std::vector<int64_t> &bytes) {
  Status status;
  forEachGroup([&](Group &group) {
    for (size_t i = 0; i < group.members().size() && status.ok(); ++i) {
      int64_t rank = group.members()[i];
      if (isHere(rank))
        status = group.registerMemory(int64_t(i), localRank(rank).memory(),
                                      bytes[size_t(rank - rankIds[0])]);
    }
  });
  return status;
}

Result<std::vector<void *>>
CudaWorld::allocate(const std::vector<int64_t> &bytes) {
  Status status = checkMemory(bytes);
  std::vector<void *> places;
  for (size_t i = 0; i < ranks.size() && status.ok(); ++i) {
    status = ranks[i]->allocate(bytes[i]);
    if (!status.ok())
      status = within(format("rank %lld", (long long)rankIds[i]), status);
    places.push_back(ranks[i]->memory());
  }
  if (status.ok() && options.registersBuffers)
    status = registerMemory(bytes);
  if (status.ok())
    return places;
  if (others)
    others->fail(status);
  return status;
}

Result<std::vector<void *>>
CudaWorld::allocateOnHost(const std::vector<int64_t> &bytes) {
  std::vector<void *> places;
  for (size_t i = 0; i < ranks.size(); ++i) {
    Status status = ranks[i]->allocateOnHost(bytes[i]);
    if (!status.ok()) {
      status =
          within(format("rank %lld, pinning %lld bytes of the host's memory",
                        (long long)rankIds[i], (long long)bytes[i]),
                 status);
      if (others)
        others->fail(status);
      return status;
    }
    places.push_back(ranks[i]->hostMemory());
  }
  return places;
}

// ---- transfers -------------------------------------------------------------

Outcome CudaWorld::forEachRank(const std::function<Status(CudaRank &)> &work) {
  if (hasFailed())
    return {firstFailure(), false};
  for (auto &rank : ranks) {
    Status status = work(*rank);
    if (status.ok())
      continue;
    fail(within(format("rank %lld", (long long)rank->id()), status));
    return {firstFailure(), false};
  }
  return Outcome();
}

Outcome CudaWorld::upload(weft_rt_type type, const std::vector<Shard> &shards,
                          const void *global) {
  return forEachRank([&](CudaRank &rank) {
    for (const Shard &shard : shards)
      if (shard.rank == rank.id())
        WEFT_RT_RETURN_IF_ERROR(
            rank.upload(type, shard.region, global, shard.local));
    return Status();
  });
}

int32_t CudaWorld::deviceNumber(int64_t rank) const {
  return deviceOf(rank)->ordinal;
}

/// Ranks of one device are copied to on the first one's stream.
void *CudaWorld::deviceStream(int64_t rank) const {
  return ranks[size_t(rank - rankIds[0])]->copyStream();
}

Outcome CudaWorld::uploadOnDevice(weft_rt_type type,
                                  const std::vector<Shard> &shards,
                                  const void *global) {
  if (hasFailed())
    return {firstFailure(), false};
  CudaRank &first = *ranks[0];
  Status status = first.uploadOnDevice(type, shards, global);
  if (status.ok())
    return Outcome();
  fail(within(format("rank %lld", (long long)first.id()), status));
  return {firstFailure(), false};
}

Outcome CudaWorld::download(weft_rt_type type, const std::vector<Shard> &shards,
                            void *global) {
  return forEachRank([&](CudaRank &rank) {
    for (const Shard &shard : shards)
      if (shard.rank == rank.id())
        WEFT_RT_RETURN_IF_ERROR(
            rank.download(type, shard.region, shard.local, global));
    return Status();
  });
}

Outcome CudaWorld::fill(const std::vector<Block> &blocks, uint8_t value) {
  return forEachRank([&](CudaRank &rank) {
    for (const Block &block : blocks)
      if (block.rank == rank.id())
        WEFT_RT_RETURN_IF_ERROR(rank.fill(block, value));
    return Status();
  });
}

// ---- tasks -----------------------------------------------------------------

RankLog &CudaWorld::log(int64_t rank) { return localRank(rank).log; }

Outcome CudaWorld::run(RankTask newTask, void *newContext) {
  if (others)
    if (Status left = others->beginStep(); !left.ok())
      fail(left);
  if (hasFailed())
    return {firstFailure(), false};
  {
    std::lock_guard<std::mutex> guard(lock);
    task = newTask;
    context = newContext;
    running = int64_t(ranks.size());
    ++epoch;
    changed.notify_all();
  }
  bool isInterrupted = false;
  bool haveStopped = awaitRanks(isInterrupted);
  if (hasFailed()) {
    Status first = firstFailure();
    if (haveStopped && awaitQuiet())
      return {first, false};
    isStuck = true;
    return {Status(first.code(),
                   first.message() + "; some ranks did not stop after that"),
            false};
  }
  if (isInterrupted)
    return {Status(WEFT_RT_INTERRUPTED, "interrupted after a whole step"),
            true};
  return Outcome();
}

/// Waits for the ranks to finish the task. After a failure they have as long as
/// a rendezvous has; false when that passed too. Who wishes to end the task
/// waits a moment for it to end by itself.
bool CudaWorld::awaitRanks(bool &isInterrupted) {
  constexpr int64_t patience = 400'000'000;
  auto deadline = int64_t(options.deadlineSeconds * 1e9);
  int64_t lastMoment = INT64_MAX, breakMoment = INT64_MAX;
  std::unique_lock<std::mutex> guard(lock);
  while (running > 0) {
    changed.wait_for(guard, shortWhile, [&] { return running == 0; });
    guard.unlock();
    int64_t time = nanosecondsNow();
    if (!isInterrupted && options.poll && options.poll(options.pollContext)) {
      isInterrupted = true;
      breakMoment = time + patience;
    }
    if (time >= breakMoment && !hasFailed())
      fail(Status(WEFT_RT_INTERRUPTED, "interrupted in the middle of a step"));
    if (hasFailed() && lastMoment == INT64_MAX)
      lastMoment =
          time + (isInterrupted ? std::min(patience, deadline) : deadline);
    guard.lock();
    if (time >= lastMoment && running > 0)
      return false;
  }
  return true;
}

/// After a failure: devices may still be at work, and then nothing that they
/// use may be freed.
bool CudaWorld::awaitQuiet() {
  constexpr int64_t patience = 2'000'000'000;
  int64_t end = nanosecondsNow() + patience;
  auto isQuiet = [](const std::unique_ptr<CudaRank> &rank) {
    return rank->isQuiet();
  };
  for (Pause pause; !std::all_of(ranks.begin(), ranks.end(), isQuiet);
       pause.sleep())
    if (nanosecondsNow() > end)
      return false;
  return true;
}

Status CudaWorld::firstFailure() {
  std::lock_guard<std::mutex> guard(lock);
  return failure;
}

void CudaWorld::fail(Status newFailure) {
  // Who follows another process' failure may come before the thread that tells
  // what it is.
  if (newFailure.message().empty() && others && others->hasFailed())
    newFailure = Status(newFailure.code(), others->failure().message());
  {
    std::lock_guard<std::mutex> guard(lock);
    if (failed.load(std::memory_order_relaxed))
      return;
    failure = std::move(newFailure);
    failed.store(true, std::memory_order_release);
    changed.notify_all();
  }
  if (others)
    others->fail(firstFailure());
  for (auto &rank : ranks) {
    rank->freezeFlight();
    rank->dropGraphs();
  }
  forEachGroup([](Group &group) { group.breakUp(); });
}

void CudaWorld::awaitFailure() {
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return hasFailed(); });
}

// ---- the watchdog ----------------------------------------------------------

void *CudaWorld::watchdogMain(void *world) {
  pthread_setname_np(pthread_self(), "weft watchdog");
  static_cast<CudaWorld *>(world)->watch();
  return nullptr;
}

/// Looks at all collectives, several times within a deadline, while ranks run.
void CudaWorld::watch() {
  auto deadline = int64_t(options.deadlineSeconds * 1e9);
  auto interval = std::chrono::nanoseconds(
      std::clamp<int64_t>(deadline / 10, 1'000'000, 200'000'000));
  std::unique_lock<std::mutex> guard(lock);
  while (!isEnding) {
    if (running == 0 || hasFailed()) {
      changed.wait(guard,
                   [&] { return isEnding || (running > 0 && !hasFailed()); });
      continue;
    }
    changed.wait_for(guard, interval,
                     [&] { return isEnding || running == 0 || hasFailed(); });
    if (isEnding || running == 0 || hasFailed())
      continue;
    guard.unlock();
    look();
    guard.lock();
  }
}

void CudaWorld::look() {
  auto deadline = int64_t(options.deadlineSeconds * 1e9);
  for (auto &rank : ranks) {
    CurrentContext current(rank->device);
    LateCollective late = rank->findLate(nanosecondsNow(), deadline);
    if (late.rank < 0)
      continue;
    if (others && !others->isFirst())
      tellLate(late);
    else
      fail(lateFailure(late));
  }
  lookAtGroups();
  if (others)
    tellProgress();
}

/// NCCL notices some ranks that are gone. The job knows better which.
void CudaWorld::lookAtGroups() {
  constexpr int64_t patience = 1'000'000'000;
  for (auto &channel : groups)
    for (auto &group : channel) {
      Status bad = group ? group->health() : Status();
      if (bad.ok())
        continue;
      sickSince = sickSince ? sickSince : nanosecondsNow();
      if (!others || nanosecondsNow() - sickSince > patience)
        return fail(Status(WEFT_RT_RANK_FAILED, bad.message()));
    }
}

} // namespace weft::rt::cuda

namespace weft::rt {

Result<std::unique_ptr<Backend>>
createCudaBackend(const BackendOptions &options) {
  if (options.programs[0]->num_ranks % options.place.count != 0)
    return invalid(format("program %s is for %d ranks, which %lld processes "
                          "cannot share evenly",
                          quote(options.programs[0]->name).c_str(),
                          options.programs[0]->num_ranks,
                          (long long)options.place.count));
  auto world = std::make_unique<cuda::CudaWorld>(options);
  Status started = world->start();
  if (started.ok())
    return std::unique_ptr<Backend>(std::move(world));
  JobMember *job = world->job();
  if (!job)
    return started;
  // Where another process failed, there is its message.
  job->fail(started);
  return started.message().empty() ? job->failure() : started;
}

} // namespace weft::rt
