// SPDX-License-Identifier: Apache-2.0

// What the kernels of ordered_gemm_kernels.cpp take.

#ifndef WEFT_RT_CUDA_ORDERED_GEMM_ARGS_H
#define WEFT_RT_CUDA_ORDERED_GEMM_ARGS_H

#include <stdint.h>

namespace weft::rt::cuda {

/// The dims of one role as one index, major dim first.
struct FlatDims {
  static constexpr int most = 8;
  int64_t count; // elements of the index
  int64_t sizes[most], stridesA[most], stridesB[most], stridesC[most];
  int32_t num;
};

/// C = A * B or C += A * B in the order that
/// runtime/backends/host/gemm/gemm.h declares.
struct OrderedGemmArgs {
  const void *a, *b;
  void *c;
  FlatDims batch, rows, columns, depth;
  int64_t leaves;
  int32_t typeA, typeB, typeC;
  int32_t accumulate, rounded;
  int32_t isDepthDenseA, isDepthDenseB; // threads side by side read along K
};

/// Rows and columns of C that a block computes: in the wide kernels, which take
/// up to this many leaves, and in the narrow ones.
constexpr int wideTile = 64, narrowTile = 32;
constexpr int64_t wideLeaves = 16;

/// The kernels, in the order of their names in ordered_gemm.cpp.
enum class GemmKernel {
  F32Wide,
  F32Narrow,
  Bf16Wide,
  Bf16Narrow,
  F64Narrow,
};
constexpr int numGemmKernels = 5;

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ORDERED_GEMM_ARGS_H
