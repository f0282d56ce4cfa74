// SPDX-License-Identifier: Apache-2.0

// How the kernels of tensor_attention_kernels.cpp cut the work.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H

#include "backends/cuda/attention_args.h"

namespace weft::rt::cuda {

/// How heads of up to Head elements are cut, and dynamic shared memory in
/// bytes.
template <int Head, int ForwardWarps, int ForwardRows, int ForwardColumns,
          int KeysWarps, int KeysRows, int KeysColumns, int QueriesWarps,
          int QueriesRows, int QueriesColumns>
struct TensorCut {
  static constexpr int forwardWarps = ForwardWarps,
                       forwardQueries = ForwardRows,
                       forwardKeys = ForwardColumns, keysWarps = KeysWarps,
                       keys = KeysRows, queries = KeysColumns,
                       queriesWarps = QueriesWarps,
                       gradientQueries = QueriesRows,
                       gradientKeys = QueriesColumns;
  static constexpr int forwardBytes =
      2 * Head * (forwardQueries + 2 * forwardKeys);
  static constexpr int keysBytes = 4 * Head * keys + (8 * Head + 16) * queries;
  static constexpr int queriesBytes =
      4 * Head * (gradientQueries + 2 * gradientKeys);
};
/// By mma.sync; and by groups of four warps, a group a block: of several sizes
/// that were measured on an H200 these were the fastest.
template <int Head, bool HasGroups> struct TensorTiles;
template <>
struct TensorTiles<64, false>
    : TensorCut<64, 4, 128, 64, 4, 128, 32, 4, 128, 64> {};
template <>
struct TensorTiles<128, false>
    : TensorCut<128, 4, 128, 64, 4, 64, 64, 4, 128, 32> {};
template <>
struct TensorTiles<64, true> : TensorCut<64, 4, 64, 128, 4, 64, 64, 4, 64, 64> {
};
template <>
struct TensorTiles<128, true>
    : TensorCut<128, 4, 64, 64, 4, 64, 64, 4, 64, 64> {};

/// Queries of a block of the pass that prepares the gradient; rows of a head
/// are padded to as many.
constexpr int tensorRows = 64, rowsWarps = 4;

/// What the gradient needs of the queries besides tensors, in scratch memory:
/// [batches][groups][padded queries] twice, log2 of the sum of exponentials and
/// delta.
constexpr int64_t paddedQueries(int64_t queries) {
  return (queries + tensorRows - 1) / tensorRows * tensorRows;
}

/// Numbers of keys and queries from which on offsets would overflow.
constexpr int64_t tensorPositions = int64_t(1) << 28;

/// The kernels for heads of up to 64 and of up to 128 elements, each in bf16
/// and f16, in the order of their names in tensor_attention.cpp.
enum class TensorKernel { Rows, Forward, Keys, Queries };
constexpr int numTensorKernels = 14;

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_ARGS_H
