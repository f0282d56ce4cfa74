// SPDX-License-Identifier: Apache-2.0

#include "contract/attention_reason.h"

#include <cmath>
#include <initializer_list>

namespace weft::rt {

using namespace detail;

weft_rt_type detail::attentionTypeOf(const weft_rt_attention &desc,
                                     int tensor) {
  switch (tensor) {
  case WEFT_RT_ATTENTION_BIAS:
    return desc.type_bias;
  case WEFT_RT_ATTENTION_MASK:
    return WEFT_RT_I1;
  case WEFT_RT_ATTENTION_Q_SEGMENTS:
  case WEFT_RT_ATTENTION_K_SEGMENTS:
  case WEFT_RT_ATTENTION_LOW_SEEDS:
  case WEFT_RT_ATTENTION_HIGH_SEEDS:
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

namespace {

constexpr int kNumRoles = WEFT_RT_ATTENTION_VALUE + 1;

constexpr unsigned bit(int tensor) { return 1u << tensor; }

/// Tensors that have dims of a role; of BATCH and GROUP dims some may lack any.
constexpr unsigned kSeeds =
    bit(WEFT_RT_ATTENTION_LOW_SEEDS) | bit(WEFT_RT_ATTENTION_HIGH_SEEDS);
constexpr unsigned kMasks = bit(WEFT_RT_ATTENTION_BIAS) |
                            bit(WEFT_RT_ATTENTION_MASK) |
                            bit(WEFT_RT_ATTENTION_Q_SEGMENTS) |
                            bit(WEFT_RT_ATTENTION_K_SEGMENTS) | kSeeds;
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
    kOfKeys | (kMasks & ~bit(WEFT_RT_ATTENTION_Q_SEGMENTS) & ~kSeeds),
    bit(WEFT_RT_ATTENTION_Q) | bit(WEFT_RT_ATTENTION_K) |
        bit(WEFT_RT_ATTENTION_DQ) | bit(WEFT_RT_ATTENTION_DK),
    bit(WEFT_RT_ATTENTION_V) | bit(WEFT_RT_ATTENTION_OUT) |
        bit(WEFT_RT_ATTENTION_DOUT) | bit(WEFT_RT_ATTENTION_DV)};

unsigned tensorsWritten(const weft_rt_attention &desc) {
  return desc.backward
             ? bit(WEFT_RT_ATTENTION_DQ) | bit(WEFT_RT_ATTENTION_DK) |
                   bit(WEFT_RT_ATTENTION_DV)
             : bit(WEFT_RT_ATTENTION_OUT) | bit(WEFT_RT_ATTENTION_LSE);
}

const char *typesReason(const weft_rt_attention &desc) {
  if (desc.type != WEFT_RT_F32 && desc.type != WEFT_RT_BF16 &&
      desc.type != WEFT_RT_F16)
    return "type not supported";
  for (weft_rt_type type :
       {desc.type_bias, desc.type_dq, desc.type_dk, desc.type_dv})
    if (type != WEFT_RT_F32 && type != desc.type)
      return "type of bias or of a gradient is neither f32 nor that of queries";
  return nullptr;
}

const char *numbersReason(const weft_rt_attention &desc) {
  if (desc.backward != 0 && desc.backward != 1)
    return "backward is neither 0 nor 1";
  if (!std::isfinite(desc.scale))
    return "scale is not finite";
  if (!(desc.softcap >= 0) || std::isinf(desc.softcap))
    return "softcap is negative or not finite";
  if (!(desc.dropout >= 0 && desc.dropout < 1))
    return "dropout is not at least 0 and below 1";
  if (desc.left < -1 || desc.right < -1)
    return "bound of keys that are seen below -1";
  if (desc.leaves < 0)
    return "negative number of leaves";
  return nullptr;
}

const char *dimReason(const weft_rt_attention &desc,
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
const char *extentsReason(const weft_rt_attention &desc) {
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

const char *rolesReason(const weft_rt_attention &desc) {
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

} // namespace

const char *attentionReason(const weft_rt_attention &desc) {
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

const char *attentionBuffersReason(const weft_rt_attention &desc,
                                   void *const *buffers) {
  for (int tensor = 0; tensor < kNumTensors; ++tensor) {
    const bool mayLack = (kMasks & bit(tensor)) ||
                         (!desc.backward && tensor > WEFT_RT_ATTENTION_LSE);
    if (!buffers[tensor] && !mayLack)
      return "no address of a tensor that must be there";
  }
  if (!buffers[WEFT_RT_ATTENTION_Q_SEGMENTS] !=
      !buffers[WEFT_RT_ATTENTION_K_SEGMENTS])
    return "segments of queries or of keys alone";
  const bool hasSeeds = buffers[WEFT_RT_ATTENTION_LOW_SEEDS];
  if (!buffers[WEFT_RT_ATTENTION_HIGH_SEEDS] == hasSeeds ||
      (desc.dropout > 0 && !hasSeeds))
    return "low or high seeds alone, or a dropout without seeds";
  return nullptr;
}

} // namespace weft::rt
