// SPDX-License-Identifier: Apache-2.0

// What all backends know of attention's descriptor, and what they refuse of it.

#ifndef WEFT_RT_CONTRACT_ATTENTION_REASON_H
#define WEFT_RT_CONTRACT_ATTENTION_REASON_H

#include "weft-rt/abi.h"

namespace weft::rt {
namespace detail {

constexpr int kNumTensors = WEFT_RT_ATTENTION_NUM_BUFFERS;

/// A dim's stride in each tensor, by weft_rt_attention_buffer.
inline constexpr int64_t weft_rt_attention_dim::*kStrideOf[kNumTensors] = {
    &weft_rt_attention_dim::stride_q,
    &weft_rt_attention_dim::stride_k,
    &weft_rt_attention_dim::stride_v,
    &weft_rt_attention_dim::stride_bias,
    &weft_rt_attention_dim::stride_mask,
    &weft_rt_attention_dim::stride_q_segments,
    &weft_rt_attention_dim::stride_k_segments,
    &weft_rt_attention_dim::stride_low_seeds,
    &weft_rt_attention_dim::stride_high_seeds,
    &weft_rt_attention_dim::stride_out,
    &weft_rt_attention_dim::stride_lse,
    &weft_rt_attention_dim::stride_dout,
    &weft_rt_attention_dim::stride_dq,
    &weft_rt_attention_dim::stride_dk,
    &weft_rt_attention_dim::stride_dv};

weft_rt_type attentionTypeOf(const weft_rt_attention &desc, int tensor);

} // namespace detail

/// Why the descriptor makes no sense, or null.
const char *attentionReason(const weft_rt_attention &desc);

/// What is wrong with the tensors that are there, or null. There is no reason
/// against the descriptor.
const char *attentionBuffersReason(const weft_rt_attention &desc,
                                   void *const *buffers);

} // namespace weft::rt

#endif // WEFT_RT_CONTRACT_ATTENTION_REASON_H
