// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient by kernels of our own: blocked, no matrix of
// scores, any head, in the host's order of sums.

#ifndef WEFT_RT_CUDA_ATTENTION_H
#define WEFT_RT_CUDA_ATTENTION_H

#include "backends/cuda/attention_args.h"
#include "backends/cuda/device.h"

#include <mutex>

namespace weft::rt::cuda {

/// Why the descriptor is refused, or null.
const char *cudaAttentionReason(const weft_rt_attention &desc);

/// Bytes of scratch memory that a call needs.
int64_t attentionScratchBytes(const weft_rt_attention &desc);

/// What the kernels are told.
AttentionArgs attentionArgs(const weft_rt_attention &desc, void *const *buffers,
                            int64_t queryStart, void *scratch);

/// One kernel's launch; of no blocks, it is none.
struct AttentionLaunch {
  int kernel; // in the order of the names in attention.cpp
  int64_t blocks;
};

/// A call's launches, one after the other: out, or rows, dq, and dk with dv.
std::vector<AttentionLaunch> attentionLaunches(const weft_rt_attention &desc,
                                               const AttentionArgs &args);

/// The kernels of one device.
class Attention {
public:
  explicit Attention(Device &device) : device(device) {}

  /// Loads the kernels, the first time. The device's context is the thread's
  /// current one, here and below.
  Status start();

  /// Enqueues a call. The scratch is the stream's.
  Status run(const weft_rt_attention &desc, void *const *buffers,
             int64_t queryStart, void *scratch, CUstream_st *stream);

private:
  Device &device;
  std::mutex lock;
  CUfunc_st *kernels[numAttentionKernels] = {};
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_H
