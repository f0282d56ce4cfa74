// SPDX-License-Identifier: Apache-2.0

// What the kernels for one instruction set look like to the dispatcher.

#ifndef WEFT_RT_HOST_REDUCE_KERNELS_H
#define WEFT_RT_HOST_REDUCE_KERNELS_H

#include "backends/host/reduce.h"

namespace weft::rt {

/// Combines `count` elements at element `offset` of each input into `out`, and
/// fetches those `ahead` elements further.
using ReduceKernel = void (*)(const void *const *inputs, int64_t members,
                              int64_t offset, int64_t count, int64_t ahead,
                              void *out);

/// The kernel for a type, reduction and order, or null where there is none.
/// Each set needs a processor that has its instructions.
ReduceKernel reduceKernelBaseline(weft_rt_type, weft_rt_reduction, ReduceOrder);
ReduceKernel reduceKernelAvx2(weft_rt_type, weft_rt_reduction, ReduceOrder);
ReduceKernel reduceKernelAvx512(weft_rt_type, weft_rt_reduction, ReduceOrder);

} // namespace weft::rt

#endif // WEFT_RT_HOST_REDUCE_KERNELS_H
