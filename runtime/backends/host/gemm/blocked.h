// SPDX-License-Identifier: Apache-2.0

// The blocked loops around the microkernels: one rectangle of C of one batch.

#ifndef WEFT_RT_GEMM_BLOCKED_H
#define WEFT_RT_GEMM_BLOCKED_H

#include "kernels.h"
#include "plan.h"

#include <cstdint>

namespace weft::rt::detail {

/// Rows [mBegin, mEnd) and columns [nBegin, nEnd) of C.
struct Rectangle {
  int64_t mBegin, mEnd, nBegin, nEnd;
};

/// Computes a rectangle; `a`, `b`, `c` point to the batch's first elements.
void computeRectangle(const Plan &plan, const KernelSet &kernels,
                      const Rectangle &rectangle, const void *a, const void *b,
                      void *c);

int64_t typeBytes(weft_rt_type type);

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_BLOCKED_H
