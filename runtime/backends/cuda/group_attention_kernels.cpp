// SPDX-License-Identifier: Apache-2.0

// Attention on tensor cores by wgmma, the products of groups of four warps that
// GPUs of sm_90 have, and no others.
//
// scripts/make-cuda-kernels.py compiles this file as it does kernels.cpp.

#define WEFT_WARP_GROUPS
#include "backends/cuda/tensor_attention_entries.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

WEFT_TENSOR_KERNELS(weft_group_attention_)
