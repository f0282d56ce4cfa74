// SPDX-License-Identifier: Apache-2.0

// The library that weft's contraction is measured against.

#ifndef WEFT_BENCH_GEMM_PEER_H
#define WEFT_BENCH_GEMM_PEER_H

#include "weft-rt/abi.h"

#include <functional>

/// A call that computes the same as gemm on these buffers, or an empty function
/// when the peer is absent or lacks the case. The descriptor has at most two
/// batch dimensions and one of each other role.
std::function<void()> makePeer(const weft_rt_gemm &desc, void *a, void *b,
                               void *c, int threads);

#endif // WEFT_BENCH_GEMM_PEER_H
