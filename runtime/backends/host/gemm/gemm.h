// SPDX-License-Identifier: Apache-2.0

// What weft_rt_api.gemm does on the host: a contraction with any number of
// batch, M, N and K dimensions with any strides, in an order of summation that
// is part of the contract, because bits must not depend on the mesh.
//
// Let K be the flattened index of the K dimensions in the order in which the
// descriptor lists them, the first one major.
//
// Declared order: weft_rt_gemm.leaves = n > 0. K is cut into n leaves of equal
// length, and
//   leaf = a chain over the leaf's elements, below
//   tree of 1 leaf = that leaf
//   tree of n leaves = (tree of the first m) + (tree of the rest), where m is
//     the largest power of two below n
//   sum = tree of all leaves
//   accumulate: sum = C + sum
//   C = sum, rounded to C's type, to nearest even
// in f32 (f64 for f64). With weft_rt_gemm.rounded, each leaf and each + of the
// tree is rounded to C's type. So if n / t is a power of two, a contraction of
// the i-th of t equal parts of K by n / t leaves (in f32, or rounded) is the
// i-th subtree of the whole one.
//
// The chain of a leaf. Its elements are cut in blocks of kGemmKBlock, counted
// from its first (the last may be short):
//   leaf = block 0; leaf = leaf + block 1; leaf = leaf + block 2; ...
// f32, f16, mixed f32/bf16, mixed f32/f16 and f64 operands. f16 and bf16
// operands are first widened to f32, which is exact.
//   block = +0; for k in the block, ascending: block = fma(a[k], b[k], block)
// bf16 x bf16. The block is padded with zeros to whole steps of 32 k:
//   block = +0; for each step, ascending:
//     even = odd = +0; for the 16 pairs k, k + 1 of the step, ascending:
//       even = fma(a[k], b[k], even); odd = fma(a[k + 1], b[k + 1], odd)
//     block = block + (even + odd)
// where subnormal operands, and results that are subnormal when rounded as if
// exponents had no bound, are replaced by zero of the same sign. This is what
// tdpbf16ps computes; outside of blocks, subnormal numbers stay.
// An empty K gives sum = +0.
//
// Open order: leaves = 0. As leaves = 1, except that bf16 x bf16 takes what the
// ISA does fastest: below Avx512Bf16 the chain of widened operands; on
// Avx512Bf16 steps of two k, padded with a zero (vdpbf16ps, which replaces
// subnormal numbers as above),
//   block = fma(a[k + 1], b[k + 1], block); block = fma(a[k], b[k], block)
// and on AmxBf16 the chain above.
//
// The result is a function of the row of A, the column of B and C's old value
// only: it does not depend on the number of rows, columns or batches, on
// strides, on the number of threads, or, but for bf16 x bf16 in open order, on
// the ISA. A NaN result is a NaN for every variant, but its payload is
// unspecified. Rounding a NaN to bf16 or f16 gives a quiet NaN.

#ifndef WEFT_RT_GEMM_GEMM_H
#define WEFT_RT_GEMM_GEMM_H

#include "core/gemm_reason.h"

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

/// C = A * B or C += A * B as weft_rt_gemm says. gemmReason has nothing against
/// the descriptor.
void gemm(const weft_rt_gemm &desc, const void *a, const void *b, void *c,
          const ParallelFor &parallelFor);

/// Allocates the calling thread's packing workspace (its only allocation), so
/// that no later gemm on this thread allocates; false if there is no memory.
/// Without it, the first gemm does, and ends the process if there is none.
bool gemmReserveWorkspace();

} // namespace weft::rt

#endif // WEFT_RT_GEMM_GEMM_H
