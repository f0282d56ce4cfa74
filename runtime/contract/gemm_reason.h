// SPDX-License-Identifier: Apache-2.0

// What every backend refuses of a contraction.

#ifndef WEFT_RT_CONTRACT_GEMM_REASON_H
#define WEFT_RT_CONTRACT_GEMM_REASON_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// Why the contraction makes no sense, or null.
const char *gemmReason(const weft_rt_gemm &desc);

} // namespace weft::rt

#endif // WEFT_RT_CONTRACT_GEMM_REASON_H
