// SPDX-License-Identifier: Apache-2.0

// Pieces of collectives as moves of bytes; weft_rt_operand says the layouts.

#ifndef WEFT_RT_CUDA_MOVEMENT_H
#define WEFT_RT_CUDA_MOVEMENT_H

#include "backends/cuda/kernel_args.h"
#include "weft-rt/abi.h"

namespace weft::rt::cuda {

/// Bytes that lie in runs: where the first one is, and how they go on.
struct Runs {
  const void *begin;
  int64_t length, stride;
};

/// A move of `bytes` in the largest units that fit.
MoveArgs moveArgs(Runs from, Runs to, int64_t bytes);

/// Bytes of a member's piece: what it gives to one other member.
int64_t pieceBytes(const weft_rt_operand &operand);

/// A member's part of a gathered buffer, which it fills.
Runs gatheredPart(const weft_rt_operand &operand, const void *whole,
                  int64_t size, int64_t member);

/// The piece of an ALL_TO_ALL input that goes to a member, and the place in the
/// output of what comes from one.
Runs sentPart(const weft_rt_operand &operand, const void *in, int64_t size,
              int64_t member);
Runs receivedPart(const weft_rt_operand &operand, const void *out, int64_t size,
                  int64_t member);

/// Bytes that follow each other.
inline Runs denseRun(const void *begin, int64_t bytes) {
  return {begin, bytes, bytes};
}

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_MOVEMENT_H
