// SPDX-License-Identifier: Apache-2.0

// The choice of kernels for a contraction on an instruction set.

#ifndef WEFT_RT_GEMM_ISA_H
#define WEFT_RT_GEMM_ISA_H

#include "gemm.h"
#include "kernels.h"
#include "plan.h"

namespace weft::rt::detail {

const KernelSet &selectKernels(const Plan &plan, Isa isa);

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_ISA_H
