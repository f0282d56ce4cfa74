// SPDX-License-Identifier: Apache-2.0

// The host contraction behind weft_rt_api.gemm: any number of batch, M, N and K
// dimensions with any strides, in an order of summation that is part of the
// contract, because bits must not depend on the mesh.
//
// Order. Let K be the flattened index of the K dimensions in the order in which
// the descriptor lists them, the first one major. K is cut in blocks of
// kGemmKBlock elements (the last may be short).
//
// f32, f16, mixed f32/bf16 and f64 operands, and bf16 operands on an ISA below
// Avx512Bf16. f16 and bf16 operands are first widened to f32, which is exact.
//   block = +0; for k in the block, ascending: block = fma(a[k], b[k], block)
//   sum = block 0; sum = sum + block 1; sum = sum + block 2; ...
//   accumulate: sum = C + sum
//   C = sum, rounded to C's type, to nearest even
// in f32 (f64 for f64). An empty K gives sum = +0. The result is a function of
// the row of A, the column of B and C's old value only: it does not depend on
// the number of rows, columns or batches, on strides, on the number of threads
// or on the ISA.
//
// bf16 x bf16 on Avx512Bf16: the chain inside a block takes steps of two k,
//   block = fma(a[k + 1], b[k + 1], block); block = fma(a[k], b[k], block)
// (vdpbf16ps; K is padded to even with zeros). On AmxBf16 it takes steps of 32
// k (tdpbf16ps; K is padded with zeros):
//   even = odd = +0; for the 16 pairs k, k + 1 of the step, ascending:
//     even = fma(a[k], b[k], even); odd = fma(a[k + 1], b[k + 1], odd)
//   block = block + (even + odd)
// Both instructions flush subnormal inputs and results to zero and round to
// nearest even. On one ISA the result has the same independence as above;
// between ISAs bits differ.
//
// A NaN result is a NaN for every variant, but its payload is unspecified.
// Rounding a NaN to bf16 or f16 gives a quiet NaN.

#ifndef WEFT_RT_GEMM_GEMM_H
#define WEFT_RT_GEMM_GEMM_H

#include "weft-rt/abi.h"

#include <cstdint>

namespace weft::rt {

/// Elements of the flattened K index that one chain sums.
constexpr int64_t kGemmKBlock = 512;

/// How to run independent pieces of work: `run` calls body(bodyCtx, i) once for
/// each i in [0, n), on any threads in any order, and returns when all are
/// done. With numThreads 1 or a null `run`, everything runs on the caller.
struct ParallelFor {
  int numThreads = 1;
  void *ctx = nullptr;
  void (*run)(void *ctx, int64_t n, void (*body)(void *bodyCtx, int64_t i),
              void *bodyCtx) = nullptr;
};

/// Instruction sets with kernels of their own, each including the ones before.
enum class Isa { Scalar, Avx2, Avx512, Avx512Bf16, AmxBf16 };

/// The best ISA of this machine.
Isa detectIsa();

/// The ISA that gemm uses: what forceIsa set, else WEFT_GEMM_ISA, else
/// detectIsa(). A value of WEFT_GEMM_ISA that names no ISA or one that this
/// machine lacks ends the process with a message on first use.
Isa activeIsa();

/// Sets the ISA for the whole process; false and no change when this machine
/// lacks it. Not to be called while a gemm runs.
bool forceIsa(Isa isa);

/// "scalar", "avx2", "avx512", "avx512_bf16", "amx_bf16".
const char *isaName(Isa isa);

/// Why gemm cannot run this descriptor, or null if it can.
const char *gemmUnsupportedReason(const weft_rt_gemm &desc);
bool gemmSupported(const weft_rt_gemm &desc);

/// C = A * B or C += A * B as weft_rt_gemm says. The descriptor must be
/// supported.
void gemm(const weft_rt_gemm &desc, const void *a, const void *b, void *c,
          const ParallelFor &parallelFor);

/// Allocates the calling thread's packing workspace (its only allocation), so
/// that no later gemm on this thread allocates. Without it, the first gemm
/// does.
void gemmReserveWorkspace();

} // namespace weft::rt

#endif // WEFT_RT_GEMM_GEMM_H
