// SPDX-License-Identifier: Apache-2.0

// Members with a GPU each, connected by an NCCL communicator of their own.
// Moves are NCCL's, and so are sums whose order is open; what NCCL cannot say,
// or would say in an order of its own, is an exchange and a kernel of ours.

#ifndef WEFT_RT_CUDA_NCCL_GROUP_H
#define WEFT_RT_CUDA_NCCL_GROUP_H

#include "backends/cuda/group.h"
#include "core/job.h"

#include <atomic>

namespace weft::rt::cuda {

/// Bytes of scratch that a member needs for a collective.
int64_t scratchBytes(const weft_rt_collective &collective, int64_t size);

/// What a communicator is made for.
struct NcclGroupOptions {
  std::vector<const Device *> devices; // [member]; null: of another process
  std::vector<int64_t> ranks;
  std::string channel;
  int64_t scratch; // bytes that each member needs, as far as it is known
  UniqueId id;     // the same in all processes with members
  double deadlineSeconds;
  const JobMember *job; // may be null
};

class NcclGroup : public Group {
public:
  /// Makes the communicator; all members' GPUs take part.
  static Result<std::unique_ptr<Group>> create(const NcclApi &api,
                                               const NcclGroupOptions &options);
  ~NcclGroup() override;

  Status registerMemory(int64_t index, void *base, int64_t bytes) override;
  void deregisterMemory() override;

  Status health() override;

  /// Aborts the communicator, which ends what hangs on the devices.
  void breakUp() override;

  Status capture(int64_t index, const Contribution &what) override;

protected:
  Status enqueue(int64_t index, int64_t number, const Contribution &what,
                 bool isLast) override;
  bool recordsAtOnce() const override { return true; }

private:
  /// A member's end of the communicator. Only the member's thread uses it, but
  /// for an abort.
  struct Member {
    const Device *device = nullptr;
    CUstream_st *stream = nullptr;
    std::mutex lock; // of the communicator
    ncclComm *communicator = nullptr;
    void *registered = nullptr; // with this communicator
    std::vector<void *> blocks; // of scratch; the last one is in use
    int64_t scratchBytes = 0;
  };
  NcclGroup(const NcclApi &api, const NcclGroupOptions &options,
            int64_t locals);
  Status open(const NcclGroupOptions &options);
  Status connect(const NcclGroupOptions &options);
  Status tryRegister(Member &end, void *base, int64_t bytes);
  Status settle(Member &member, int64_t deadline);
  Status provideScratch(Member &member, int64_t bytes);

  const NcclApi &api;
  const std::string name; // of the channel
  const JobMember *const job;
  const double deadlineSeconds; // for what is done before the first step
  std::vector<std::unique_ptr<Member>> ends; // [member]; null: not here
  std::atomic<bool> isBroken{false};
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_NCCL_GROUP_H
