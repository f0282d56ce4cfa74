// SPDX-License-Identifier: Apache-2.0

// Members that share a GPU. NCCL refuses two ranks on one, so that whoever
// starts a collective as the last one enqueues all of it: on the group's
// stream, after what each member's input waits for, as copies and sums of our
// own in the order that the program says.

#ifndef WEFT_RT_CUDA_SHARING_H
#define WEFT_RT_CUDA_SHARING_H

#include "backends/cuda/group.h"

namespace weft::rt::cuda {

/// A group on one GPU; `operands` is the most that a collective has.
class SharingGroup : public Group {
public:
  static Result<std::unique_ptr<Group>> create(const Device &device,
                                               std::vector<int64_t> ranks,
                                               std::string channel,
                                               int32_t operands);
  ~SharingGroup() override;

  Status capture(int64_t index, const Contribution &what) override;

protected:
  Status enqueue(int64_t index, int64_t number, const Contribution &what,
                 bool isLast) override;
  bool recordsAtOnce() const override { return false; }

private:
  SharingGroup(const Device &device, const std::vector<int64_t> &ranks,
               std::string channel, int32_t operands);

  Status enqueueAll(const Contribution *all);
  Status moveOperand(const Contribution *all, int32_t operand);
  Status gather(const Contribution *all, int32_t operand);
  Status reduceScatter(const Contribution *all, int32_t operand);
  Status allReduce(const Contribution *all, int32_t operand);
  Status allToAll(const Contribution *all, int32_t operand);
  Status permute(const Contribution *all, int32_t operand);
  ReduceArgs reduceArgs(const Contribution *all, int32_t operand) const;

  const Device &device;
  const int32_t operands;
  CUstream_st *stream = nullptr;
  // What members brought, until the last one comes: [number][member], and
  // tables of buffers [number][member][operand].
  std::vector<Contribution> brought;
  std::unique_ptr<const void *[]> ins;
  std::unique_ptr<void *[]> outs;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_SHARING_H
