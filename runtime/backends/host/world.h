// SPDX-License-Identifier: Apache-2.0

// The host backend: ranks are threads of one process and communicate through
// its memory.
//
// Collectives run beside the ranks' computation; see group.h. Every wait for
// other ranks has a deadline. The first failure of any rank is kept, breaks all
// groups, and ends the task on all ranks.

#ifndef WEFT_RT_HOST_WORLD_H
#define WEFT_RT_HOST_WORLD_H

#include "backends/host/group.h"
#include "backends/host/memory.h"
#include "backends/host/team.h"
#include "backends/host/worker.h"
#include "core/backend.h"
#include "core/topology.h"

#include <mutex>

namespace weft::rt {

class HostRank;

/// All ranks, their groups, and the first failure.
class HostWorld : public Backend {
public:
  explicit HostWorld(const BackendOptions &options);
  ~HostWorld() override;

  /// Checks the options, and starts the threads.
  Status start();

  const std::vector<int64_t> &localRanks() const override { return rankIds; }
  int threadsPerRank() const override { return teamSize; }
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
  bool hasStuckRank() const override {
    return stuck && running.load(std::memory_order_acquire) > 0;
  }

  /// Keeps the failure if it is the first, and ends the task on all ranks.
  void fail(Status failure);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }

  /// Sleeps until some rank fails.
  void awaitFailure();

private:
  friend class HostRank;

  Status checkPrograms() const;
  Status checkThreads() const;
  Outcome runOnRanks(const std::function<void(int64_t)> &work);
  void createGroups();
  GroupOptions groupOptions(int32_t channel);
  Status failureOrSuccess();
  bool awaitRanks(bool &isInterrupted);
  void awaitQuiet() const;

  const BackendOptions options;
  const weft_rt_program &program; // rank 0's
  int teamSize, spins;
  int64_t deadlineNanoseconds;
  std::vector<ChannelGroups> layout;                       // [channel]
  std::vector<std::vector<std::unique_ptr<Group>>> groups; // [channel][group]
  std::unique_ptr<LinkModel> link;                         // null: none
  std::vector<int64_t> rankIds;                            // all of the job
  std::vector<std::unique_ptr<Mapping>> memory;            // [rank]
  std::vector<std::unique_ptr<HostRank>> ranks;
  std::vector<std::unique_ptr<Worker>> workers;

  std::mutex failureLock;
  Status failure; // guarded by failureLock
  std::atomic<uint32_t> failed{0};
  bool stuck = false;

  // The current task; written before `epoch` moves.
  RankTask task = nullptr; // null: the thread ends
  void *context = nullptr;
  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> running{0}; // ranks that have not finished the task
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_WORLD_H
