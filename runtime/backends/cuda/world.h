// SPDX-License-Identifier: Apache-2.0

// All ranks of a job on the GPUs of one machine, their groups, and the first
// failure, which ends the task on all ranks.

#ifndef WEFT_RT_CUDA_WORLD_H
#define WEFT_RT_CUDA_WORLD_H

#include "backends/cuda/gemm.h"
#include "backends/cuda/group.h"
#include "backends/cuda/rehearsal.h"
#include "core/backend.h"
#include "core/topology.h"

#include <atomic>
#include <functional>
#include <pthread.h>

namespace weft::rt::cuda {

class CudaRank;

class CudaWorld : public Backend {
public:
  explicit CudaWorld(const BackendOptions &options);
  ~CudaWorld() override;

  /// Finds GPUs, and makes all that a step needs.
  Status start();

  const std::vector<int64_t> &localRanks() const override { return rankIds; }
  int threadsPerRank() const override { return 1; }
  Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) override;
  Outcome upload(weft_rt_type type, const std::vector<Shard> &shards,
                 const void *global) override;
  Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                   void *global) override;
  Outcome fill(const std::vector<Block> &blocks, uint8_t value) override;
  const weft_rt_api &api() const override;
  Outcome run(RankTask task, void *context) override;
  RankLog &log(int64_t rank) override;
  bool hasStuckRank() const override { return isStuck; }

  /// Keeps the failure if it is the first, and ends the task on all ranks.
  void fail(Status failure);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }

  /// Sleeps until some rank fails.
  void awaitFailure();

private:
  friend class CudaRank;

  Status checkOptions() const;
  Status openDevices();
  Status openGroups();
  int64_t scratchOf(int32_t channel, int64_t size) const;
  Result<std::unique_ptr<Group>> openGroup(int32_t channel,
                                           const std::vector<int64_t> &members);
  Status rehearseAll();
  Status checkMemory(const std::vector<int64_t> &bytes) const;
  Status startThreads();
  Outcome forEachRank(const std::function<Status(CudaRank &)> &work);
  Status firstFailure();
  bool awaitRanks(bool &isInterrupted);
  bool awaitQuiet();
  static void *watchdogMain(void *world);
  void watch();

  const BackendOptions options;
  const weft_rt_program &program; // rank 0's
  const DriverApi *driverApi = nullptr;
  std::vector<int64_t> rankIds;
  std::vector<ChannelGroups> layout; // [channel]
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Contractions>> contractions; // [device]
  std::vector<std::unique_ptr<Attention>> attentions;      // [device]
  std::vector<Rehearsal> rehearsals;                       // [rank]
  std::vector<std::vector<std::unique_ptr<Group>>> groups; // [channel][group]
  std::vector<std::unique_ptr<CudaRank>> ranks;

  // The current task, and how far it is.
  std::mutex lock;
  std::condition_variable changed;
  RankTask task = nullptr;
  void *context = nullptr;
  int64_t epoch = 0;   // moves when there is a task
  int64_t running = 0; // ranks that have not finished it
  bool isEnding = false;
  Status failure;
  std::atomic<bool> failed{false};
  bool isStuck = false;
  pthread_t watchdog{};
  bool isWatched = false;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_WORLD_H
