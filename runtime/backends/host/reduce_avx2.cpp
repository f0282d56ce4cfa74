// SPDX-License-Identifier: Apache-2.0

// The reduction kernels for processors with AVX2;
// the build gives this file its instruction set.

#include "backends/host/reduce_template.h"

namespace weft::rt {

ReduceKernel reduceKernelAvx2(weft_rt_type type, weft_rt_reduction reduction,
                              ReduceOrder order) {
  return findKernel(type, reduction, order);
}

} // namespace weft::rt
