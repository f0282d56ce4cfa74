// SPDX-License-Identifier: Apache-2.0

// What a rank's step will ask for, found by running its entry once with calls
// that only write it down: so that plans, memory and refusals come before the
// first step. An entry looks at nothing that lies in the rank's memory; where
// it reads a scalar the rehearsal ends, and what would come after is met in a
// step.

#ifndef WEFT_RT_CUDA_REHEARSAL_H
#define WEFT_RT_CUDA_REHEARSAL_H

#include "backends/cuda/attention.h"
#include "backends/cuda/gemm.h"

#include <array>

namespace weft::rt::cuda {

/// A contraction with addresses as a step gives them, but for the base.
struct RehearsedGemm {
  const weft_rt_gemm *gemm;
  Operands operands;
};

/// The same for attention.
struct RehearsedAttention {
  const weft_rt_attention *desc;
  std::array<void *, WEFT_RT_ATTENTION_NUM_BUFFERS> buffers;
  int64_t queryStart;
};

/// Constant data of the program that a copy reads.
struct RehearsedConstant {
  const void *data;
  int64_t bytes;
};

struct Rehearsal {
  std::vector<RehearsedGemm> gemms;
  std::vector<RehearsedAttention> attentions;
  std::vector<RehearsedConstant> constants;
  std::vector<const weft_rt_collective *> collectives;
  std::vector<int32_t> channels;    // on whose streams ops are, besides
  std::vector<int64_t> sharedBytes; // dynamic ones, [kernel]
  bool isWhole = true;              // no scalar was read
};

/// Fails if the step asks for what the backend does not have.
Result<Rehearsal> rehearse(const weft_rt_program &program, int64_t rank);

/// Why a kernel's launch is refused, or success: config is [blocks, threads of
/// a block, bytes of dynamic shared memory].
Status checkCudaLaunch(const weft_rt_program &program,
                       const weft_rt_launch &launch);

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_REHEARSAL_H
