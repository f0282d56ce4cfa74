// SPDX-License-Identifier: Apache-2.0

// What all backends know of attention's descriptor, and what they refuse of it.
// A header, so that the host's attention, which builds alone, has it as well.

#ifndef WEFT_RT_CORE_ATTENTION_REASON_H
#define WEFT_RT_CORE_ATTENTION_REASON_H

#include "weft-rt/abi.h"

#include <cmath>
#include <initializer_list>

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
    &weft_rt_attention_dim::stride_out,
    &weft_rt_attention_dim::stride_lse,
    &weft_rt_attention_dim::stride_dout,
    &weft_rt_attention_dim::stride_dq,
    &weft_rt_attention_dim::stride_dk,
    &weft_rt_attention_dim::stride_dv};

inline weft_rt_type attentionTypeOf(const weft_rt_attention &desc, int tensor) {
  switch (tensor) {
  case WEFT_RT_ATTENTION_BIAS:
    return desc.type_bias;
  case WEFT_RT_ATTENTION_MASK:
    return WEFT_RT_I1;
  case WEFT_RT_ATTENTION_Q_SEGMENTS:
  case WEFT_RT_ATTENTION_K_SEGMENTS:
    return WEFT_RT_I32;
  case WEFT_RT_ATTENTION_LSE:
    return WEFT_RT_F32;
  case WEFT_RT_ATTENTION_DQ:
    return desc.type_dq;
  case WEFT_RT_ATTENTION_DK:
    return desc.type_dk;
  case WEFT_RT_ATTENTION_DV:
    return desc.type_dv;
  default:
    return desc.type;
  }
}

constexpr int kNumRoles = WEFT_RT_ATTENTION_VALUE + 1;

constexpr unsigned bit(int tensor) { return 1u << tensor; }

/// Tensors that have dims of a role; of BATCH and GROUP dims some may lack any.
constexpr unsigned kMasks =
    bit(WEFT_RT_ATTENTION_BIAS) | bit(WEFT_RT_ATTENTION_MASK) |
    bit(WEFT_RT_ATTENTION_Q_SEGMENTS) | bit(WEFT_RT_ATTENTION_K_SEGMENTS);
constexpr unsigned kOfKeys =
    bit(WEFT_RT_ATTENTION_K) | bit(WEFT_RT_ATTENTION_V) |
    bit(WEFT_RT_ATTENTION_DK) | bit(WEFT_RT_ATTENTION_DV);
constexpr unsigned kOfQueries =
    bit(WEFT_RT_ATTENTION_Q) | bit(WEFT_RT_ATTENTION_OUT) |
    bit(WEFT_RT_ATTENTION_LSE) | bit(WEFT_RT_ATTENTION_DOUT) |
    bit(WEFT_RT_ATTENTION_DQ);
constexpr unsigned kHasRole[kNumRoles] = {
    kOfKeys | kOfQueries | kMasks,
    kOfQueries | kMasks,
    kOfQueries | (kMasks & ~bit(WEFT_RT_ATTENTION_K_SEGMENTS)),
    kOfKeys | (kMasks & ~bit(WEFT_RT_ATTENTION_Q_SEGMENTS)),
    bit(WEFT_RT_ATTENTION_Q) | bit(WEFT_RT_ATTENTION_K) |
        bit(WEFT_RT_ATTENTION_DQ) | bit(WEFT_RT_ATTENTION_DK),
    bit(WEFT_RT_ATTENTION_V) | bit(WEFT_RT_ATTENTION_OUT) |
        bit(WEFT_RT_ATTENTION_DOUT) | bit(WEFT_RT_ATTENTION_DV)};

inline unsigned tensorsWritten(const weft_rt_attention &desc) {
  return desc.backward
             ? bit(WEFT_RT_ATTENTION_DQ) | bit(WEFT_RT_ATTENTION_DK) |
                   bit(WEFT_RT_ATTENTION_DV)
             : bit(WEFT_RT_ATTENTION_OUT) | bit(WEFT_RT_ATTENTION_LSE);
}

inline const char *typesReason(const weft_rt_attention &desc) {
  if (desc.type != WEFT_RT_F32 && desc.type != WEFT_RT_BF16 &&
      desc.type != WEFT_RT_F16)
    return "type not supported";
  for (weft_rt_type type :
       {desc.type_bias, desc.type_dq, desc.type_dk, desc.type_dv})
    if (type != WEFT_RT_F32 && type != desc.type)
      return "type of bias or of a gradient is neither f32 nor that of queries";
  return nullptr;
}

inline const char *numbersReason(const weft_rt_attention &desc) {
  if (desc.backward != 0 && desc.backward != 1)
    return "backward is neither 0 nor 1";
  if (!std::isfinite(desc.scale))
    return "scale is not finite";
  if (!(desc.softcap >= 0) || std::isinf(desc.softcap))
    return "softcap is negative or not finite";
  if (desc.left < -1 || desc.right < -1)
    return "bound of keys that are seen below -1";
  if (desc.leaves < 0)
    return "negative number of leaves";
  return nullptr;
}

inline const char *dimReason(const weft_rt_attention &desc,
                             const weft_rt_attention_dim &dim) {
  if (dim.role < 0 || dim.role >= kNumRoles)
    return "unknown role of a dimension";
  if (dim.size < 0)
    return "negative size";
  for (int tensor = 0; tensor < kNumTensors; ++tensor) {
    const int64_t stride = dim.*kStrideOf[tensor];
    if (stride < 0)
      return "negative stride";
    const bool hasDim = kHasRole[dim.role] & bit(tensor);
    if (stride != 0 && !hasDim)
      return "stride in a tensor that lacks the dimension";
    if (stride == 0 && hasDim && dim.size > 1 &&
        (tensorsWritten(desc) & bit(tensor)))
      return "an element of a result is addressed more than once";
  }
  return nullptr;
}

/// Tensors whose offsets fit, and as many pairs of numbers as can be counted.
inline const char *extentsReason(const weft_rt_attention &desc) {
  constexpr int64_t most = int64_t(1) << 58;
  int64_t product = 1;
  for (int i = 0; i < desc.num_dims; ++i)
    if (__builtin_mul_overflow(product, desc.dims[i].size, &product) ||
        product > most)
      return "sizes too large";
  for (int tensor = 0; tensor < kNumTensors; ++tensor) {
    int64_t extent = 0, step;
    for (int i = 0; i < desc.num_dims; ++i)
      if (__builtin_mul_overflow(desc.dims[i].size,
                                 desc.dims[i].*kStrideOf[tensor], &step) ||
          __builtin_add_overflow(extent, step, &extent) || extent > most)
        return "strides too large";
  }
  return nullptr;
}

inline const char *rolesReason(const weft_rt_attention &desc) {
  int count[kNumRoles] = {};
  int64_t size[kNumRoles] = {1, 1, 1, 1, 1, 1};
  for (int i = 0; i < desc.num_dims; ++i) {
    ++count[desc.dims[i].role];
    size[desc.dims[i].role] *= desc.dims[i].size;
  }
  for (int role = WEFT_RT_ATTENTION_QUERY; role < kNumRoles; ++role)
    if (count[role] != 1)
      return "not one dimension each of queries, keys, depth and values";
  if (size[WEFT_RT_ATTENTION_DEPTH] > WEFT_RT_ATTENTION_MAX_HEAD ||
      size[WEFT_RT_ATTENTION_VALUE] > WEFT_RT_ATTENTION_MAX_HEAD)
    return "depth or values above 2048";
  static_assert(WEFT_RT_ATTENTION_MAX_HEAD == 2048, "said above");
  int64_t rows = size[WEFT_RT_ATTENTION_GROUP] * size[WEFT_RT_ATTENTION_QUERY];
  if (desc.backward && desc.leaves > 0 && rows % desc.leaves != 0)
    return "number of leaves does not divide groups times queries";
  return nullptr;
}

} // namespace detail

/// Why the descriptor makes no sense, or null.
inline const char *attentionReason(const weft_rt_attention &desc) {
  using namespace detail;
  if (desc.num_dims < 0 || desc.num_dims > WEFT_RT_ATTENTION_MAX_DIMS)
    return "number of dimensions out of range";
  if (const char *reason = typesReason(desc))
    return reason;
  if (const char *reason = numbersReason(desc))
    return reason;
  for (int i = 0; i < desc.num_dims; ++i)
    if (const char *reason = dimReason(desc, desc.dims[i]))
      return reason;
  if (const char *reason = extentsReason(desc))
    return reason;
  return rolesReason(desc);
}

/// What is wrong with the tensors that are there, or null. There is no reason
/// against the descriptor.
inline const char *attentionBuffersReason(const weft_rt_attention &desc,
                                          void *const *buffers) {
  using namespace detail;
  for (int tensor = 0; tensor < kNumTensors; ++tensor) {
    const bool mayLack = (kMasks & bit(tensor)) ||
                         (!desc.backward && tensor > WEFT_RT_ATTENTION_LSE);
    if (!buffers[tensor] && !mayLack)
      return "no address of a tensor that must be there";
  }
  if (!buffers[WEFT_RT_ATTENTION_Q_SEGMENTS] !=
      !buffers[WEFT_RT_ATTENTION_K_SEGMENTS])
    return "segments of queries or of keys alone";
  return nullptr;
}

} // namespace weft::rt

#endif // WEFT_RT_CORE_ATTENTION_REASON_H
