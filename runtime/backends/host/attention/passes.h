// SPDX-License-Identifier: Apache-2.0

// The passes that a call consists of. Each is a number of pieces that any
// threads may compute in any order.

#ifndef WEFT_RT_ATTENTION_PASSES_H
#define WEFT_RT_ATTENTION_PASSES_H

#include "gemm.h"
#include "problem.h"

namespace weft::rt::detail {

void computeForward(const Problem &problem, const ParallelFor &parallelFor);
void computeGradient(const Problem &problem, const ParallelFor &parallelFor);

/// Runs body(i) for each of n pieces, on the caller where threads do not pay.
template <class Body>
void forPieces(const Problem &problem, const ParallelFor &parallelFor,
               int64_t n, Body body) {
  constexpr double worthAThread = 1e6; // products of queries and keys' elements
  double work = double(problem.batches) * double(problem.groups) *
                double(problem.query.size) * double(problem.key.size) *
                double(problem.depth.size + problem.value.size);
  if (!parallelFor.run || parallelFor.numThreads < 2 || n < 2 ||
      work < 2 * worthAThread) {
    for (int64_t i = 0; i < n; ++i)
      body(i);
    return;
  }
  parallelFor.run(
      parallelFor.ctx, n,
      [](void *context, int64_t i) { (*static_cast<Body *>(context))(i); },
      &body);
}

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_PASSES_H
