// SPDX-License-Identifier: Apache-2.0

// The kernels of tensor_attention_kernels.cpp and group_attention_kernels.cpp:
// attention and its gradient for bf16 and f16 where the order of sums is open.
// P and dS are rounded to the type of the tensors before they are multiplied;
// sums are f32.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_ENTRIES_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_ENTRIES_H

#include "backends/cuda/tensor_attention_forward.h"
#include "backends/cuda/tensor_attention_gradient.h"

namespace weft::rt::cuda {

namespace {

constexpr int most(int x, int y) { return x > y ? x : y; }
template <typename Tiles>
constexpr int bytesFor =
    most(Tiles::forwardBytes, most(Tiles::keysBytes, Tiles::queriesBytes));
using Small = TilesOf<64>;
using Large = TilesOf<128>;
constexpr int mostBytes = most(bytesFor<Small>, bytesFor<Large>);
static_assert(mostBytes <= attentionSharedBytes);

} // namespace

WEFT_WARP_SHARED_PLACE(mostBytes);

namespace {

template <typename Format>
void computeRows(const AttentionArgs &args, WarpBlock<rowsWarps> &block) {
  prepareRows<Format>(args, block);
}
template <typename Format, int Head>
void computeForward(const AttentionArgs &args,
                    WarpBlock<TilesOf<Head>::forwardWarps> &block) {
  TensorForward<Format, Head>(args, block, WEFT_WARP_SHARED)
      .compute(block.index());
}
template <typename Format, int Head>
void computeKeys(const AttentionArgs &args,
                 WarpBlock<TilesOf<Head>::keysWarps> &block) {
  TensorKeyGradient<Format, Head>(args, block, WEFT_WARP_SHARED)
      .compute(block.index());
}
template <typename Format, int Head>
void computeQueries(const AttentionArgs &args,
                    WarpBlock<TilesOf<Head>::queriesWarps> &block) {
  TensorQueryGradient<Format, Head>(args, block, WEFT_WARP_SHARED)
      .compute(block.index());
}

} // namespace
} // namespace weft::rt::cuda

/// All kernels, with a prefix for their names.
#define WEFT_TENSOR_KERNELS(prefix)                                            \
  WEFT_TENSOR_KERNELS_OF_TYPE(prefix, bf16, BFloat16)                          \
  WEFT_TENSOR_KERNELS_OF_TYPE(prefix, f16, Float16)
#define WEFT_TENSOR_KERNELS_OF_TYPE(prefix, type, Format)                      \
  WEFT_TENSOR_KERNEL(prefix##rows_##type, rowsWarps, computeRows<Format>)      \
  WEFT_TENSOR_KERNELS_OF_HEAD(prefix, type, Format, 64)                        \
  WEFT_TENSOR_KERNELS_OF_HEAD(prefix, type, Format, 128)
#define WEFT_TENSOR_KERNELS_OF_HEAD(prefix, type, Format, head)                \
  WEFT_TENSOR_KERNEL(prefix##forward_##type##_##head,                          \
                     TilesOf<head>::forwardWarps,                              \
                     computeForward<Format, head>)                             \
  WEFT_TENSOR_KERNEL(prefix##keys_##type##_##head, TilesOf<head>::keysWarps,   \
                     computeKeys<Format, head>)                                \
  WEFT_TENSOR_KERNEL(prefix##queries_##type##_##head,                          \
                     TilesOf<head>::queriesWarps,                              \
                     computeQueries<Format, head>)
#define WEFT_TENSOR_KERNEL(name, warps, ...)                                   \
  WEFT_WARP_KERNEL(name, AttentionArgs, warps, (__VA_ARGS__))

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_ENTRIES_H
