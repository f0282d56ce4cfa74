// SPDX-License-Identifier: Apache-2.0

#include "contract/gemm_reason.h"

namespace weft::rt {

static bool areGemmTypesKnown(const weft_rt_gemm &desc) {
  auto is = [&](weft_rt_type a, weft_rt_type b) {
    return desc.type_a == a && desc.type_b == b;
  };
  constexpr weft_rt_type f16 = WEFT_RT_F16, bf16 = WEFT_RT_BF16,
                         f32 = WEFT_RT_F32, f64 = WEFT_RT_F64;
  switch (desc.type_c) {
  case f64:
    return is(f64, f64);
  case f32:
    return is(f32, f32) || is(bf16, bf16) || is(f16, f16) || is(f32, bf16) ||
           is(bf16, f32) || is(f32, f16) || is(f16, f32);
  case bf16:
    return is(f32, f32) || is(bf16, bf16) || is(f32, bf16) || is(bf16, f32);
  case f16:
    return is(f16, f16);
  default:
    return false;
  }
}

const char *gemmReason(const weft_rt_gemm &desc) {
  if (desc.num_dims < 0 || desc.num_dims > WEFT_RT_GEMM_MAX_DIMS)
    return "number of dimensions out of range";
  if (!areGemmTypesKnown(desc))
    return "combination of types not supported";
  int64_t k = 1;
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_gemm_dim &dim = desc.dims[i];
    if (dim.role < WEFT_RT_GEMM_BATCH || dim.role > WEFT_RT_GEMM_K)
      return "unknown role of a dimension";
    if (dim.size < 0)
      return "negative size";
    if (dim.stride_a < 0 || dim.stride_b < 0 || dim.stride_c < 0)
      return "negative stride";
    if (dim.role != WEFT_RT_GEMM_K && dim.size > 1 && dim.stride_c == 0)
      return "an element of C is addressed more than once";
    if (dim.role == WEFT_RT_GEMM_K)
      k *= dim.size;
  }
  if (desc.leaves < 0)
    return "negative number of leaves";
  if (desc.leaves > 0 && k % desc.leaves != 0)
    return "number of leaves does not divide K";
  if (desc.tf32 && desc.leaves > 0)
    return "TF32 with a declared order";
  return nullptr;
}

} // namespace weft::rt
