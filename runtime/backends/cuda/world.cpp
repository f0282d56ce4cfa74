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

constexpr int oldestDriver = 12000; // of CUDA 12.0
constexpr auto shortWhile = std::chrono::milliseconds(50);

std::string gibibytes(int64_t bytes) {
  return format("%.2f GiB", double(bytes) / double(int64_t(1) << 30));
}

} // namespace

CudaWorld::CudaWorld(const BackendOptions &given)
    : options(given), program(*options.programs[0]) {
  for (int64_t rank = 0; rank < program.num_ranks; ++rank)
    rankIds.push_back(rank);
}

CudaWorld::~CudaWorld() {
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
  ranks.clear();
  groups.clear();
  contractions.clear();
  devices.clear();
}

// ---- before the first step -------------------------------------------------

Status CudaWorld::checkOptions() const {
  if (!options.links.empty())
    return invalid("a link (--link) is given, which the backend 'cuda' does "
                   "not slow down: it is the host's");
  return Status();
}

/// One GPU for each rank, or all ranks on the only one.
Status CudaWorld::openDevices() {
  Result<const DriverApi *> driver = loadDriver();
  if (!driver.ok())
    return driver.status();
  driverApi = *driver;
  int result = driverApi->cuInit(0), version = 0, count = 0;
  if (result == driver::stubLibrary)
    return Status(
        WEFT_RT_INCOMPATIBLE,
        "backend 'cuda': libcuda.so.1 is the stub to link with, not a "
        "driver: take its folder out of LD_LIBRARY_PATH");
  if (result != driver::success && result != driver::noDevice)
    return within("backend 'cuda'", driverError(*driverApi, "cuInit", result));
  WEFT_CUDA_CALL(*driverApi, cuDriverGetVersion, &version);
  if (version < oldestDriver)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("backend 'cuda': the NVIDIA driver is for CUDA %d.%d, "
                         "expected 12.0 or newer: update it",
                         version / 1000, version % 1000 / 10));
  if (result == driver::success)
    WEFT_CUDA_CALL(*driverApi, cuDeviceGetCount, &count);
  if (count == 0)
    return Status(WEFT_RT_INCOMPATIBLE,
                  "backend 'cuda' finds no GPU: look at nvidia-smi and "
                  "CUDA_VISIBLE_DEVICES");
  if (count > 1 && count < program.num_ranks)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("program %s is for %d ranks, and there are %d GPUs: "
                         "compile it for as many ranks, or let all share one "
                         "GPU with CUDA_VISIBLE_DEVICES=0",
                         quote(program.name).c_str(), program.num_ranks,
                         count));
  int needed = count > 1 ? program.num_ranks : 1;
  for (int ordinal = 0; ordinal < needed; ++ordinal) {
    Result<std::unique_ptr<Device>> device = Device::open(*driverApi, ordinal);
    if (!device.ok())
      return device.status();
    devices.push_back(std::move(*device));
    contractions.push_back(std::make_unique<Contractions>(*devices.back()));
    attentions.push_back(std::make_unique<Attention>(*devices.back()));
  }
  return Status();
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

Result<std::unique_ptr<Group>>
CudaWorld::openGroup(int32_t channel, const std::vector<int64_t> &members) {
  std::string name = program.channels[channel].name;
  auto deviceOf = [&](int64_t rank) {
    return devices[size_t(rank) % devices.size()].get();
  };
  if (devices.size() == 1 || members.size() == 1)
    return SharingGroup::create(*deviceOf(members[0]), members, name,
                                program.max_operands);
  Result<const NcclApi *> ncclApi = loadNccl();
  if (!ncclApi.ok())
    return ncclApi.status();
  std::vector<const Device *> ofMembers;
  for (int64_t rank : members)
    ofMembers.push_back(deviceOf(rank));
  return NcclGroup::create(**ncclApi, ofMembers, members, name,
                           scratchOf(channel, int64_t(members.size())),
                           options.deadlineSeconds);
}

Status CudaWorld::openGroups() {
  for (int32_t i = 0; i < program.num_channels; ++i) {
    layout.push_back(groupsOf(program, program.channels[i]));
    groups.emplace_back();
    for (const std::vector<int64_t> &members : layout.back().groups) {
      Result<std::unique_ptr<Group>> group = openGroup(i, members);
      if (!group.ok())
        return group.status();
      groups.back().push_back(std::move(*group));
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
      needed += bytes[rank];
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

Status CudaWorld::start() {
  WEFT_RT_RETURN_IF_ERROR(checkOptions());
  WEFT_RT_RETURN_IF_ERROR(openDevices());
  WEFT_RT_RETURN_IF_ERROR(rehearseAll());
  std::vector<int64_t> bytes;
  for (const weft_rt_program *one : options.programs)
    bytes.push_back(layoutOf(*one).totalBytes);
  WEFT_RT_RETURN_IF_ERROR(checkMemory(bytes));
  WEFT_RT_RETURN_IF_ERROR(openGroups());
  for (int64_t rank : rankIds) {
    size_t device = size_t(rank) % devices.size();
    ranks.push_back(std::make_unique<CudaRank>(*this, rank, *devices[device],
                                               *contractions[device],
                                               *attentions[device]));
    WEFT_RT_RETURN_IF_ERROR(ranks.back()->prepare(rehearsals[rank]));
  }
  return startThreads();
}

Result<std::vector<void *>>
CudaWorld::allocate(const std::vector<int64_t> &bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkMemory(bytes));
  std::vector<void *> places;
  for (auto &rank : ranks) {
    Status status = rank->allocate(bytes[rank->id()]);
    if (!status.ok())
      return within(format("rank %lld", (long long)rank->id()), status);
    places.push_back(rank->memory());
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

RankLog &CudaWorld::log(int64_t rank) { return ranks[rank]->log; }

Outcome CudaWorld::run(RankTask newTask, void *newContext) {
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
  {
    std::lock_guard<std::mutex> guard(lock);
    if (failed.load(std::memory_order_relaxed))
      return;
    failure = std::move(newFailure);
    failed.store(true, std::memory_order_release);
    changed.notify_all();
  }
  for (auto &rank : ranks)
    rank->freezeFlight();
  for (auto &channel : groups)
    for (auto &group : channel)
      group->breakUp();
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
    for (auto &rank : ranks) {
      CurrentContext current(rank->device);
      Status status = rank->checkDeadlines(nanosecondsNow(), deadline);
      if (!status.ok())
        fail(status);
    }
    guard.lock();
  }
}

} // namespace weft::rt::cuda

namespace weft::rt {

Result<std::unique_ptr<Backend>>
createCudaBackend(const BackendOptions &options) {
  auto world = std::make_unique<cuda::CudaWorld>(options);
  WEFT_RT_RETURN_IF_ERROR(world->start());
  return std::unique_ptr<Backend>(std::move(world));
}

} // namespace weft::rt
