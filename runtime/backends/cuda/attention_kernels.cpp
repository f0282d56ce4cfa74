// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient without the matrix of scores, with the bits of the
// host: the order of all sums is that of runtime/backends/host/attention, with
// P and dS rounded to bf16 where that says so. Products are f32 on CUDA cores.
//
// scripts/make-cuda-kernels.py compiles this file as it does kernels.cpp.

#include "backends/cuda/attention_forward.h"
#include "backends/cuda/attention_gradient.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace weft::rt::cuda {

WEFT_DYNAMIC_SHARED_PLACE;

namespace {

/// Blocks for a head's elements, at least one.
int64_t chunksOf(int64_t elements) {
  int64_t chunks = (elements + attentionElements - 1) / attentionElements;
  return chunks > 0 ? chunks : 1;
}

/// The forward pass, or the rows that the gradient needs.
template <typename Chains>
void computeForward(const AttentionArgs &args, Block &block) {
  WEFT_DYNAMIC_SHARED(ForwardSpace, space);
  int64_t chunks = args.isBackward ? 1 : chunksOf(args.values);
  ForwardBlock<Chains> forward(args, block, space);
  forward.moveTo(block.index() / chunks);
  forward.compute(block.index() % chunks * attentionElements);
}

template <typename Chains>
void computeQueries(const AttentionArgs &args, Block &block) {
  WEFT_DYNAMIC_SHARED(GradientSpace, space);
  int64_t chunks = chunksOf(args.depth);
  QueryGradient<Chains>(args, block, space)
      .compute(block.index() / chunks,
               block.index() % chunks * attentionElements);
}

/// Which tensors these are is known when it runs. Of parameters that are chosen
/// between, each thread would have a copy: they are in shared memory.
template <typename Chains>
void computeKeys(const AttentionArgs &given, Block &block) {
  WEFT_DYNAMIC_SHARED(GradientSpace, space);
  WEFT_SHARED(AttentionArgs, args);
  constexpr int words = sizeof(AttentionArgs) / sizeof(int64_t);
  static_assert(words * sizeof(int64_t) == sizeof(AttentionArgs));
  block.phase([&](int thread) {
    for (int i = thread; i < words; i += blockThreads)
      reinterpret_cast<int64_t *>(&args)[i] =
          reinterpret_cast<const int64_t *>(&given)[i];
  });
  int64_t ofDepth = chunksOf(args.depth),
          chunks = ofDepth + chunksOf(args.values),
          chunk = block.index() % chunks;
  bool isValues = chunk >= ofDepth;
  PerThread<KeyTrees> trees;
  KeyGradient<Chains>(args, block, space, trees)
      .compute(block.index() / chunks,
               (isValues ? chunk - ofDepth : chunk) * attentionElements,
               isValues);
}

static_assert(sizeof(ForwardSpace) <= attentionSharedBytes &&
              sizeof(GradientSpace) <= attentionSharedBytes);

using Wide = WideChains<float, each, each>;
using Pairs = PairChains<each, each>;

} // namespace
} // namespace weft::rt::cuda

#define WEFT_ATTENTION_KERNEL(name, body)                                      \
  WEFT_BLOCK_KERNEL(name, AttentionArgs, body)

WEFT_ATTENTION_KERNEL(weft_attention_forward, computeForward<Wide>)
WEFT_ATTENTION_KERNEL(weft_attention_queries, computeQueries<Wide>)
WEFT_ATTENTION_KERNEL(weft_attention_keys, computeKeys<Wide>)
WEFT_ATTENTION_KERNEL(weft_attention_forward_bf16, computeForward<Pairs>)
WEFT_ATTENTION_KERNEL(weft_attention_queries_bf16, computeQueries<Pairs>)
WEFT_ATTENTION_KERNEL(weft_attention_keys_bf16, computeKeys<Pairs>)
