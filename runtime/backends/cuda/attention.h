// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient by kernels of our own: blocked, no matrix of
// scores. What tensor cores take (tensor_attention.h) is theirs; all else, any
// head, is computed in f32 in the host's order of sums, by the kernels that are
// here. Some calls are cuDNN's before that (cudnn_attention.h).

#ifndef WEFT_RT_CUDA_ATTENTION_H
#define WEFT_RT_CUDA_ATTENTION_H

#include "backends/cuda/attention_args.h"
#include "backends/cuda/device.h"
#include "backends/cuda/tensor_attention_args.h"

#include <mutex>

namespace weft::rt::cuda {

/// Why the descriptor is refused, or null.
const char *cudaAttentionReason(const weft_rt_attention &desc);

/// Bytes of scratch memory that a call needs, on tensor cores or not.
int64_t attentionScratchBytes(const weft_rt_attention &desc);

/// What the kernels are told.
AttentionArgs attentionArgs(const weft_rt_attention &desc, void *const *buffers,
                            int64_t queryStart, void *scratch);

/// One kernel's launch; of no blocks, it is none.
struct AttentionLaunch {
  int kernel; // in the order of the names in attention.cpp
  int64_t blocks;
  int threads, sharedBytes;
};

/// A call's launches without tensor cores, one after the other: out, or rows,
/// dq, and dk with dv.
std::vector<AttentionLaunch> attentionLaunches(const weft_rt_attention &desc,
                                               const AttentionArgs &args);

/// The kernels of one device.
class Attention {
public:
  explicit Attention(Device &device) : device(device) {}

  /// Loads a call's kernels, the first time. The device's context is the
  /// thread's current one, here and below.
  Status prepare(const weft_rt_attention &desc, void *const *buffers);

  /// Enqueues a call that is prepared. The scratch is the stream's.

  Status run(const weft_rt_attention &desc, void *const *buffers,
             int64_t queryStart, void *scratch, CUstream_st *stream);

private:
  /// Loads the kernels, those for tensor cores or the others.
  Status load(bool areTensors);
  /// Whether groups of four warps multiply together.
  bool hasGroups() const;

  Device &device;
  std::mutex lock;
  CUfunc_st *kernels[numAttentionKernels] = {};
  CUfunc_st *onTensors[numTensorKernels] = {};
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_H
