// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient on tensor cores, for what those kernels take: bf16
// and f16 in open order. All else is attention.h's.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_H

#include "backends/cuda/attention.h"
#include "backends/cuda/tensor_attention_args.h"

namespace weft::rt::cuda {

/// Why a call is not one for tensor cores, or null. There is no reason against
/// the descriptor or the buffers.
const char *tensorCoresReason(const weft_rt_attention &desc,
                              void *const *buffers);

/// Bytes of scratch memory that a call for tensor cores needs.
int64_t tensorScratchBytes(const weft_rt_attention &desc);

/// A call's launches, one after the other: out; or rows, dk with dv, and dq.
/// Kernels are in the order of their names; hasGroups says of which of the two.
std::vector<AttentionLaunch>
tensorAttentionLaunches(const weft_rt_attention &desc,
                        const AttentionArgs &args, bool hasGroups);

/// The kernels of GPUs whose groups of four warps multiply together (sm_90),
/// and of all others.
struct TensorKernels {
  const char *ptx;
  const char *const *names;
};
TensorKernels tensorKernels(bool hasGroups);

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_H
