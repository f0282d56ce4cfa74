// SPDX-License-Identifier: Apache-2.0

// How the kernels of tensor_attention_kernels.cpp cut the work.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H

#include "backends/cuda/attention_args.h"

namespace weft::rt::cuda {

/// Warps of a block, and sizes of tiles, for heads of up to Head elements. Of
/// the pass for dk and dv a block has `keys` keys and brings `queries` queries
/// at a time; of that for dq it is the other way round.
template <int Head> struct TensorTiles;
template <> struct TensorTiles<64> {
  static constexpr int forwardWarps = 4, forwardQueries = 128, forwardKeys = 64;
  static constexpr int keysWarps = 4, keys = 128, queries = 32;
  static constexpr int queriesWarps = 4, gradientQueries = 128,
                       gradientKeys = 64;
};
template <> struct TensorTiles<128> {
  static constexpr int forwardWarps = 4, forwardQueries = 128, forwardKeys = 64;
  static constexpr int keysWarps = 4, keys = 64, queries = 64;
  static constexpr int queriesWarps = 4, gradientQueries = 128,
                       gradientKeys = 32;
};

/// Queries of a block of the pass that prepares the gradient; rows of a head
/// are padded to as many.
constexpr int tensorRows = 64, rowsWarps = 4;

/// What the gradient needs of the queries besides tensors, in scratch memory:
/// [batches][groups][padded queries] twice, log2 of the sum of exponentials and
/// delta.
constexpr int64_t paddedQueries(int64_t queries) {
  return (queries + tensorRows - 1) / tensorRows * tensorRows;
}

/// Dynamic shared memory in bytes.
template <int Head>
constexpr int forwardBytes =
    2 * Head *
    (TensorTiles<Head>::forwardQueries + 2 * TensorTiles<Head>::forwardKeys);
template <int Head>
constexpr int keysBytes = 4 * Head * TensorTiles<Head>::keys +
                          2 * (4 * Head + 8) * TensorTiles<Head>::queries;
template <int Head>
constexpr int queriesBytes =
    4 * Head *
    (TensorTiles<Head>::gradientQueries + 2 * TensorTiles<Head>::gradientKeys);

/// Numbers of keys and queries from which on offsets would overflow.
constexpr int64_t tensorPositions = int64_t(1) << 28;

/// The kernels for heads of up to 64 and of up to 128 elements, each in bf16
/// and f16, in the order of their names in tensor_attention.cpp.
enum class TensorKernel { Rows, Forward, Keys, Queries };
constexpr int numTensorKernels = 14;

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H
