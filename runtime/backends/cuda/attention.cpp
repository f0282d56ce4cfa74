// SPDX-License-Identifier: Apache-2.0

// Which blocks there are is as attention_kernels.cpp counts them.

#include "backends/cuda/attention.h"

#include "backends/cuda/block.h"
#include "backends/cuda/tensor_attention.h"
#include "contract/attention_formulas.h"
#include "contract/attention_reason.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

constexpr char kernelsPtx[] =
#include "backends/cuda/attention_ptx.inc"
    ;

constexpr const char *kernelNames[numAttentionKernels] = {
    "weft_attention_forward",      "weft_attention_queries",
    "weft_attention_keys",         "weft_attention_forward_bf16",
    "weft_attention_queries_bf16", "weft_attention_keys_bf16"};

/// Far more than there are keys, so that sums of two do not overflow.
int64_t limited(int64_t position) {
  constexpr int64_t far = int64_t(1) << 60;
  return std::clamp(position, -far, far);
}

int64_t tilesOf(int64_t count, int64_t tile) {
  return (count + tile - 1) / tile;
}

/// Blocks for a head's elements, at least one.
int64_t chunksOf(int64_t elements) {
  return std::max<int64_t>(1, tilesOf(elements, attentionElements));
}

/// A dim of queries, keys, depth or values: its strides are a tensor's.
void addInner(const weft_rt_attention_dim &dim,
              int64_t AttentionTensor::*stride, AttentionArgs &args) {
  for (int tensor = 0; tensor < detail::kNumTensors; ++tensor)
    args.tensors[tensor].*stride += dim.*detail::kStrideOf[tensor];
}

void addOuter(const weft_rt_attention_dim &dim, AttentionArgs &args) {
  AttentionDim &to = args.dims[args.numDims++];
  to.size = dim.size;
  to.isGroup = dim.role == WEFT_RT_ATTENTION_GROUP;
  for (int tensor = 0; tensor < detail::kNumTensors; ++tensor)
    to.strides[tensor] = dim.*detail::kStrideOf[tensor];
  (to.isGroup ? args.groups : args.batches) *= dim.size;
}

void addDim(const weft_rt_attention_dim &dim, AttentionArgs &args) {
  switch (dim.role) {
  case WEFT_RT_ATTENTION_QUERY:
    args.queries = dim.size;
    return addInner(dim, &AttentionTensor::query, args);
  case WEFT_RT_ATTENTION_KEY:
    args.keys = dim.size;
    return addInner(dim, &AttentionTensor::key, args);
  case WEFT_RT_ATTENTION_DEPTH:
    args.depth = dim.size;
    return addInner(dim, &AttentionTensor::element, args);
  case WEFT_RT_ATTENTION_VALUE:
    args.values = dim.size;
    return addInner(dim, &AttentionTensor::element, args);
  default:
    return addOuter(dim, args);
  }
}

} // namespace

const char *cudaAttentionReason(const weft_rt_attention &desc) {
  if (const char *reason = attentionReason(desc))
    return reason;
  if (desc.backward && desc.leaves > attentionLeaves)
    return "more than 256 leaves, for which the backend 'cuda' has no room";
  static_assert(attentionLeaves == 256, "said above");
  return nullptr;
}

int64_t attentionScratchBytes(const weft_rt_attention &desc) {
  if (!desc.backward)
    return 0;
  AttentionArgs args = attentionArgs(desc, nullptr, 0, nullptr);
  int64_t bytes =
      args.batches * args.groups * args.queries * int64_t(sizeof(AttentionRow));
  return std::max(bytes, tensorScratchBytes(desc));
}

AttentionArgs attentionArgs(const weft_rt_attention &desc, void *const *buffers,
                            int64_t queryStart, void *scratch) {
  AttentionArgs args = {};
  for (int tensor = 0; tensor < detail::kNumTensors; ++tensor) {
    args.tensors[tensor].type = detail::attentionTypeOf(desc, tensor);
    args.tensors[tensor].data = buffers ? buffers[tensor] : nullptr;
  }
  args.batches = args.groups = 1;
  for (int32_t i = 0; i < desc.num_dims; ++i)
    addDim(desc.dims[i], args);
  args.isBackward = desc.backward;
  args.queryStart = limited(queryStart);
  args.left = limited(desc.left);
  args.right = limited(desc.right);
  args.leaves = desc.leaves;
  args.scale = desc.scale;
  args.softcap = desc.softcap;
  args.fill = desc.fill;
  args.dropLimit = dropLimit(desc.dropout);
  args.retainedGain = retainedGain(desc.dropout);
  args.isPlain = desc.scale > 0 && desc.softcap == 0 &&
                 !args.tensors[WEFT_RT_ATTENTION_BIAS].data &&
                 !args.tensors[WEFT_RT_ATTENTION_MASK].data &&
                 !args.tensors[WEFT_RT_ATTENTION_Q_SEGMENTS].data;
  args.rows = static_cast<AttentionRow *>(scratch);
  return args;
}

std::vector<AttentionLaunch> attentionLaunches(const weft_rt_attention &desc,
                                               const AttentionArgs &args) {
  bool hasPairs = desc.type == WEFT_RT_BF16 && desc.leaves > 0;
  auto launch = [&](AttentionKernel kind, int64_t blocks) -> AttentionLaunch {
    return {int(kind) + 3 * hasPairs, blocks, blockThreads,
            attentionSharedBytes};
  };
  int64_t queries =
      args.batches * args.groups * tilesOf(args.queries, attentionRows);
  if (!desc.backward)
    return {launch(AttentionKernel::Forward, queries * chunksOf(args.values))};
  int64_t keys = args.batches * tilesOf(args.keys, attentionRows);
  return {launch(AttentionKernel::Forward, queries),
          launch(AttentionKernel::Queries, queries * chunksOf(args.depth)),
          launch(AttentionKernel::Keys,
                 keys * (chunksOf(args.depth) + chunksOf(args.values)))};
}

Status Attention::load(bool areTensors) {
  std::lock_guard<std::mutex> guard(lock);
  if ((areTensors ? onTensors : kernels)[0])
    return Status();
  TensorKernels tensors = tensorKernels(hasGroups());
  CUfunc_st **to = areTensors ? onTensors : kernels;
  int count = areTensors ? numTensorKernels : numAttentionKernels;
  WEFT_RT_RETURN_IF_ERROR(device.loadKernels(
      "the runtime's attention", areTensors ? tensors.ptx : kernelsPtx,
      areTensors ? tensors.names : kernelNames, count, to));
  for (int i = 0; i < count; ++i)
    WEFT_RT_RETURN_IF_ERROR(device.allowShared(to[i], attentionSharedBytes));
  return Status();
}

bool Attention::hasGroups() const { return device.capabilityMajor() == 9; }

Status Attention::prepare(const weft_rt_attention &desc, void *const *buffers) {
  return load(!tensorCoresReason(desc, buffers));
}

Status Attention::run(const weft_rt_attention &desc, void *const *buffers,
                      int64_t queryStart, void *scratch, CUstream_st *stream) {
  bool areTensors = !tensorCoresReason(desc, buffers);

  AttentionArgs args = attentionArgs(desc, buffers, queryStart, scratch);
  for (const AttentionLaunch &launch :
       areTensors ? tensorAttentionLaunches(desc, args, hasGroups())
                  : attentionLaunches(desc, args)) {
    if (launch.blocks > INT32_MAX)
      return invalid(format("attention: %lld blocks are more than a launch has",
                            (long long)launch.blocks));
    if (launch.blocks == 0)
      continue;
    void *params[] = {&args};
    WEFT_CUDA_CALL(device.api, cuLaunchKernel,
                   (areTensors ? onTensors : kernels)[launch.kernel],
                   unsigned(launch.blocks), 1, 1, unsigned(launch.threads), 1,
                   1, unsigned(launch.sharedBytes), stream, params, nullptr);
  }
  return Status();
}

} // namespace weft::rt::cuda
