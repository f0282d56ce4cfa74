// SPDX-License-Identifier: Apache-2.0

// All members' parts are on one stream, one after the other: an all_reduce in
// place reads an element of all inputs before it writes any output.

#include "backends/cuda/sharing.h"

#include "backends/cuda/movement.h"
#include "core/collective.h"
#include "core/types.h"

#include <algorithm>

namespace weft::rt::cuda {

SharingGroup::SharingGroup(const Device &device,
                           const std::vector<int64_t> &ranks,
                           std::string channel, int32_t operands)
    : Group(ranks, std::move(channel), int64_t(ranks.size())), device(device),
      operands(operands), brought(size_t(maxInFlight * size())),
      ins(new const void *[size_t(maxInFlight * size() * operands)]),
      outs(new void *[size_t(maxInFlight * size() * operands)]) {}

SharingGroup::~SharingGroup() {
  CurrentContext current(device);
  if (stream)
    device.api.cuStreamDestroy_v2(stream);
}

Result<std::unique_ptr<Group>> SharingGroup::create(const Device &device,
                                                    std::vector<int64_t> ranks,
                                                    std::string channel,
                                                    int32_t operands) {
  if (ranks.size() > size_t(maxSharing))
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("channel %s has groups of %zu ranks, and at most %d "
                         "communicate on one GPU: use a machine with a GPU for "
                         "each rank",
                         quote(channel).c_str(), ranks.size(), maxSharing));
  std::unique_ptr<SharingGroup> group(
      new SharingGroup(device, std::move(ranks), std::move(channel), operands));
  CurrentContext current(device);
  WEFT_CUDA_CALL(device.api, cuStreamCreate, &group->stream,
                 driver::streamNonBlocking);
  return std::unique_ptr<Group>(std::move(group));
}

Status SharingGroup::enqueue(int64_t index, int64_t number,
                             const Contribution &what, bool isLast) {
  int64_t first = number % maxInFlight * size();
  Contribution &kept = brought[first + index];
  const void **in = &ins[(first + index) * operands];
  void **out = &outs[(first + index) * operands];
  std::copy_n(what.in, what.collective->num_operands, in);
  std::copy_n(what.out, what.collective->num_operands, out);
  kept = what;
  kept.in = in;
  kept.out = out;
  return isLast ? enqueueAll(&brought[first]) : Status();
}

Status SharingGroup::capture(int64_t, const Contribution &what) {
  if (size() > 1)
    return invalid("a collective of ranks that share a GPU");
  return enqueueAll(&what);
}

Status SharingGroup::enqueueAll(const Contribution *all) {
  for (int64_t i = 0; i < size(); ++i)
    WEFT_CUDA_CALL(device.api, cuStreamWaitEvent, stream, all[i].input, 0);
  for (int32_t i = 0; i < all[0].collective->num_operands; ++i)
    WEFT_RT_RETURN_IF_ERROR(moveOperand(all, i));
  for (int64_t i = 0; i < size(); ++i)
    WEFT_CUDA_CALL(device.api, cuEventRecord, all[i].done, stream);
  return Status();
}

Status SharingGroup::moveOperand(const Contribution *all, int32_t operand) {
  switch (all[0].collective->kind) {
  case WEFT_RT_ALL_GATHER:
    return gather(all, operand);
  case WEFT_RT_REDUCE_SCATTER:
    return reduceScatter(all, operand);
  case WEFT_RT_ALL_REDUCE:
    return allReduce(all, operand);
  case WEFT_RT_ALL_TO_ALL:
    return allToAll(all, operand);
  case WEFT_RT_PERMUTE:
    return permute(all, operand);
  }
  return Status(); // refused before
}

Status SharingGroup::gather(const Contribution *all, int32_t i) {
  const weft_rt_operand &operand = all[0].collective->operands[i];
  int64_t bytes = pieceBytes(operand);
  for (int64_t to = 0; to < size(); ++to)
    for (int64_t from = 0; from < size(); ++from)
      WEFT_RT_RETURN_IF_ERROR(device.move(
          moveArgs(denseRun(all[from].in[i], bytes),
                   gatheredPart(operand, all[to].out[i], size(), from), bytes),
          stream));
  return Status();
}

ReduceArgs SharingGroup::reduceArgs(const Contribution *all, int32_t i) const {
  const weft_rt_collective &collective = *all[0].collective;
  const weft_rt_operand &operand = collective.operands[i];
  ReduceArgs args = {};
  for (int64_t member = 0; member < size(); ++member) {
    args.inputs[member] = all[member].in[i];
    args.outputs[member] = all[member].out[i];
  }
  args.numInputs = args.numOutputs = int32_t(size());
  args.count = operand.outer * operand.extent * operand.inner;
  args.run = args.stride = std::max<int64_t>(args.count, 1);
  args.type = operand.type;
  args.reduction = collective.reduction;
  args.tree = isTree(collective);
  return args;
}

Status SharingGroup::reduceScatter(const Contribution *all, int32_t i) {
  const weft_rt_operand &operand = all[0].collective->operands[i];
  ReduceArgs args = reduceArgs(all, i);
  args.run = std::max<int64_t>(operand.extent * operand.inner, 1);
  args.stride = size() * args.run;
  args.numOutputs = 1;
  for (int64_t to = 0; to < size(); ++to) {
    for (int64_t from = 0; from < size(); ++from)
      args.inputs[from] =
          gatheredPart(operand, all[from].in[i], size(), to).begin;
    args.outputs[0] = all[to].out[i];
    WEFT_RT_RETURN_IF_ERROR(device.reduce(args, stream));
  }
  return Status();
}

Status SharingGroup::allReduce(const Contribution *all, int32_t i) {
  return device.reduce(reduceArgs(all, i), stream);
}

Status SharingGroup::allToAll(const Contribution *all, int32_t i) {
  const weft_rt_operand &operand = all[0].collective->operands[i];
  for (int64_t to = 0; to < size(); ++to)
    for (int64_t from = 0; from < size(); ++from)
      WEFT_RT_RETURN_IF_ERROR(device.move(
          moveArgs(sentPart(operand, all[from].in[i], size(), to),
                   receivedPart(operand, all[to].out[i], size(), from),
                   pieceBytes(operand)),
          stream));
  return Status();
}

Status SharingGroup::permute(const Contribution *all, int32_t i) {
  const weft_rt_collective &collective = *all[0].collective;
  int64_t bytes = pieceBytes(collective.operands[i]);
  for (int64_t to = 0; to < size() && bytes > 0; ++to) {
    int32_t source = collective.source_of[to];
    if (source < 0)
      WEFT_CUDA_CALL(device.api, cuMemsetD8Async, deviceAddress(all[to].out[i]),
                     0, size_t(bytes), stream);
    else if (size() == 1) // one of the two may be the host's
      WEFT_CUDA_CALL(device.api, cuMemcpyAsync, deviceAddress(all[0].out[i]),
                     deviceAddress(all[0].in[i]), size_t(bytes), stream);
    else
      WEFT_RT_RETURN_IF_ERROR(
          device.move(moveArgs(denseRun(all[source].in[i], bytes),
                               denseRun(all[to].out[i], bytes), bytes),
                      stream));
  }
  return Status();
}

} // namespace weft::rt::cuda
