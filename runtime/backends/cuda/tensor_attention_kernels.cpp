// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient on tensor cores, for bf16 and f16 where the order
// of sums is open: what a block computes is summed by mma.sync in f32, and P
// and dS are rounded to the type of the tensors before they are multiplied.
//
// scripts/make-cuda-kernels.py compiles this file as it does kernels.cpp.

#include "backends/cuda/tensor_attention_forward.h"
#include "backends/cuda/tensor_attention_gradient.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace weft::rt::cuda {

namespace {

constexpr int most(int x, int y) { return x > y ? x : y; }
template <typename Tiles>
constexpr int bytesFor =
    most(Tiles::forwardBytes, most(Tiles::keysBytes, Tiles::queriesBytes));
using Small = TilesOf<64>;
using Large = TilesOf<128>;
constexpr int mostBytes = most(bytesFor<Small>, bytesFor<Large>);
static_assert(mostBytes <=
              (hasGroups ? tensorGroupBytes : attentionSharedBytes));

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

#if defined(WEFT_WARP_GROUPS)
#define WEFT_KERNEL(name, warps, ...)                                          \
  WEFT_WARP_KERNEL(weft_group_attention_##name, AttentionArgs, warps,          \
                   (__VA_ARGS__))
#else
#define WEFT_KERNEL(name, warps, ...)                                          \
  WEFT_WARP_KERNEL(weft_tensor_attention_##name, AttentionArgs, warps,         \
                   (__VA_ARGS__))
#endif
#define WEFT_KERNELS_OF_HEAD(type, Format, head)                               \
  WEFT_KERNEL(forward_##type##_##head, TilesOf<head>::forwardWarps,            \
              computeForward<Format, head>)                                    \
  WEFT_KERNEL(keys_##type##_##head, TilesOf<head>::keysWarps,                  \
              computeKeys<Format, head>)                                       \
  WEFT_KERNEL(queries_##type##_##head, TilesOf<head>::queriesWarps,            \
              computeQueries<Format, head>)
#define WEFT_KERNELS(type, Format)                                             \
  WEFT_KERNEL(rows_##type, rowsWarps, computeRows<Format>)                     \
  WEFT_KERNELS_OF_HEAD(type, Format, 64)                                       \
  WEFT_KERNELS_OF_HEAD(type, Format, 128)

WEFT_KERNELS(bf16, BFloat16)
WEFT_KERNELS(f16, Float16)
