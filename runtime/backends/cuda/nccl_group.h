// SPDX-License-Identifier: Apache-2.0

// Members with a GPU each, connected by an NCCL communicator of their own.
// Moves are NCCL's, and so are sums whose order is open; what NCCL cannot say,
// or would say in an order of its own, is an exchange and a kernel of ours.

#ifndef WEFT_RT_CUDA_NCCL_GROUP_H
#define WEFT_RT_CUDA_NCCL_GROUP_H

#include "backends/cuda/group.h"

#include <atomic>

namespace weft::rt::cuda {

/// Bytes of scratch that a member needs for a collective.
int64_t scratchBytes(const weft_rt_collective &collective, int64_t size);

class NcclGroup : public Group {
public:
  /// Makes the communicator; all members' GPUs take part. `scratch`: bytes that
  /// each member needs, as far as it is known.
  static Result<std::unique_ptr<Group>>
  create(const NcclApi &api, const std::vector<const Device *> &devices,
         std::vector<int64_t> ranks, std::string channel, int64_t scratch,
         double deadlineSeconds);
  ~NcclGroup() override;

  /// Aborts the communicator, which ends what hangs on the devices.
  void breakUp() override;

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
    std::vector<void *> blocks; // of scratch; the last one is in use
    int64_t scratchBytes = 0;
  };
  NcclGroup(const NcclApi &api, std::vector<int64_t> ranks,
            std::string channel);
  Status open(const std::vector<const Device *> &devices, int64_t scratch,
              double deadlineSeconds);
  Status connect(double deadlineSeconds);
  Status settle(Member &member, int64_t deadline);
  Status provideScratch(Member &member, int64_t bytes);

  const NcclApi &api;
  const std::string name; // of the channel
  std::vector<std::unique_ptr<Member>> ends;
  std::atomic<bool> isBroken{false};
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_NCCL_GROUP_H
