// SPDX-License-Identifier: Apache-2.0

// tensor_attention_kernels.cpp with products by groups of four warps, as GPUs
// of sm_90 have them, and no others.

#define WEFT_WARP_GROUPS
#include "backends/cuda/tensor_attention_kernels.cpp"
