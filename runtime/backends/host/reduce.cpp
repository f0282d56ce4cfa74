// SPDX-License-Identifier: Apache-2.0

// Picks the kernels of the best instruction set once per process.

#include "backends/host/reduce.h"

#include "backends/host/reduce_kernels.h"

namespace weft::rt {
namespace {

using FindKernel = ReduceKernel (*)(weft_rt_type, weft_rt_reduction,
                                    ReduceOrder);

FindKernel pickSet() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return reduceKernelAvx512;
  if (__builtin_cpu_supports("avx2"))
    return reduceKernelAvx2;
#endif
  return reduceKernelBaseline;
}

const FindKernel findKernel = pickSet();

} // namespace

bool canReduce(weft_rt_type type, weft_rt_reduction reduction) {
  return reduceKernelBaseline(type, reduction, ReduceOrder::Chain) != nullptr;
}

void reduce(weft_rt_type type, weft_rt_reduction reduction, ReduceOrder order,
            const void *const *inputs, int64_t members, int64_t offset,
            int64_t count, int64_t ahead, void *out) {
  findKernel(type, reduction, order)(inputs, members, offset, count, ahead,
                                     out);
}

} // namespace weft::rt
