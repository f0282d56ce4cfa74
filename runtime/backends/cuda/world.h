// SPDX-License-Identifier: Apache-2.0

// The ranks of a process and their GPUs, the groups in which they communicate,
// also with other processes of the job, and the first failure, which ends the
// task on all ranks.

#ifndef WEFT_RT_CUDA_WORLD_H
#define WEFT_RT_CUDA_WORLD_H

#include "backends/cuda/gemm.h"
#include "backends/cuda/group.h"
#include "backends/cuda/late.h"
#include "backends/cuda/rehearsal.h"
#include "core/backend.h"
#include "core/topology.h"

#include <atomic>
#include <functional>
#include <pthread.h>

namespace weft::rt::cuda {

class CudaRank;

class CudaWorld : public Backend, private JobListener {
public:
  explicit CudaWorld(const BackendOptions &options);
  ~CudaWorld() override;

  /// Finds GPUs, meets the other processes, and makes all that a step needs.
  Status start();

  const std::vector<int64_t> &localRanks() const override { return rankIds; }
  int threadsPerRank() const override { return 1; }
  Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) override;
  Result<std::vector<void *>>
  allocateOnHost(const std::vector<int64_t> &bytes) override;
  Outcome upload(weft_rt_type type, const std::vector<Shard> &shards,
                 const void *global) override;
  int32_t deviceNumber(int64_t rank) const override;
  void *deviceStream(int64_t rank) const override;
  Outcome uploadOnDevice(weft_rt_type type, const std::vector<Shard> &shards,
                         const void *global) override;
  Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                   void *global) override;
  Outcome fill(const std::vector<Block> &blocks, uint8_t value) override;
  const weft_rt_api &api() const override;
  Outcome run(RankTask task, void *context) override;
  RankLog &log(int64_t rank) override;
  bool hasStuckRank() const override { return isStuck; }
  JobMember *job() override { return others.get(); }
  GraphReport graphs() const override;

  /// Keeps the failure if it is the first, and ends the task on all ranks.
  void fail(Status failure);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }

  /// Sleeps until some rank fails.
  void awaitFailure();

private:
  friend class CudaRank;

  Status checkOptions() const;
  std::string whyNoGraphs() const;
  Status join();
  Status startHere();
  Status openDriver(int &count);
  Status chooseDevices(int count, int &first, int &needed) const;
  Status openDevices();
  Status meet(const Status &own);
  std::string introduction(const Status &own) const;
  Status openGroups();
  bool isHere(int64_t rank) const;
  CudaRank &localRank(int64_t rank) {
    return *ranks[size_t(rank - rankIds[0])];
  }
  Device *deviceOf(int64_t rank) const;
  bool needsId(const std::vector<int64_t> &members) const;
  Result<std::vector<UniqueId>> shareIds();
  int64_t scratchOf(int32_t channel, int64_t size) const;
  Result<std::unique_ptr<Group>> openGroup(int32_t channel,
                                           const std::vector<int64_t> &members,
                                           const UniqueId &id);
  void forEachGroup(const std::function<void(Group &)> &visit);
  Status registerMemory(const std::vector<int64_t> &bytes);
  Status rehearseAll();
  Status checkMemory(const std::vector<int64_t> &bytes) const;
  Status startThreads();
  Outcome forEachRank(const std::function<Status(CudaRank &)> &work);
  Status firstFailure();
  bool awaitRanks(bool &isInterrupted);
  bool awaitQuiet();
  static void *watchdogMain(void *world);
  void watch();
  void look();
  void lookAtGroups();

  // Other processes.
  void jobFailed(const Status &failure) override;
  void jobMessage(int64_t process, const std::string &bytes) override;
  void tellProgress();
  void tellLate(const LateCollective &late);
  bool hasReached(int64_t rank, const LateCollective &late);
  Status lateFailure(const LateCollective &late);

  const BackendOptions options;
  const weft_rt_program &program; // rank 0's
  const DriverApi *driverApi = nullptr;
  std::unique_ptr<JobMember> others; // null: all ranks are here
  std::vector<int64_t> rankIds;      // one after the other
  std::vector<ChannelGroups> layout; // [channel]
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Contractions>> contractions; // [device]
  std::vector<std::unique_ptr<Attention>> attentions;      // [device]
  std::vector<Rehearsal> rehearsals;                       // [local rank]
  std::vector<std::vector<std::unique_ptr<Group>>> groups; // [channel][group]
  std::vector<std::unique_ptr<CudaRank>> ranks;            // [local rank]
  std::string graphReason; // "": steps are captured

  // What is known of other processes' ranks: collectives that they have come
  // to, [rank][channel]; in process 0.
  std::mutex progressLock;
  std::vector<std::vector<int64_t>> progress;
  std::string lastProgress; // that was sent
  int64_t lateSince = 0;    // when process 0 was asked who is missing
  int64_t sickSince = 0;    // when a group first had an error

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
