// SPDX-License-Identifier: Apache-2.0

// Chooses the pass.

#include "attention.h"

#include "passes.h"

namespace weft::rt {

using namespace detail;

void attention(const weft_rt_attention &desc, void *const *buffers,
               int64_t queryStart, const ParallelFor &parallelFor) {
  const Problem problem(desc, buffers, queryStart);
  if (desc.backward)
    computeGradient(problem, parallelFor);
  else
    computeForward(problem, parallelFor);
}

} // namespace weft::rt
