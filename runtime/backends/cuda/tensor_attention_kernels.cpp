// SPDX-License-Identifier: Apache-2.0

// Attention on tensor cores by mma.sync, which sm_80 and all later GPUs have.
//
// scripts/make-cuda-kernels.py compiles this file as it does kernels.cpp.

#include "backends/cuda/tensor_attention_entries.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

WEFT_TENSOR_KERNELS(weft_tensor_attention_)
