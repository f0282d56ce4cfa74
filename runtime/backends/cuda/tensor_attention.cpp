// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/tensor_attention.h"

#include "contract/attention_reason.h"

#include <initializer_list>

namespace weft::rt::cuda {

namespace {

constexpr char warpKernelsPtx[] =
#include "backends/cuda/tensor_attention_ptx.inc"
    ;
constexpr char groupKernelsPtx[] =
#include "backends/cuda/group_attention_ptx.inc"
    ;

#define WEFT_NAMES_OF_TYPE(prefix, type)                                       \
  prefix "rows_" type, prefix "forward_" type "_64",                           \
      prefix "keys_" type "_64", prefix "queries_" type "_64",                 \
      prefix "forward_" type "_128", prefix "keys_" type "_128",               \
      prefix "queries_" type "_128"
#define WEFT_NAMES(prefix)                                                     \
  {WEFT_NAMES_OF_TYPE(prefix, "bf16"), WEFT_NAMES_OF_TYPE(prefix, "f16")}
constexpr const char *warpKernelNames[numTensorKernels] =
    WEFT_NAMES("weft_tensor_attention_");
constexpr const char *groupKernelNames[numTensorKernels] =
    WEFT_NAMES("weft_group_attention_");

} // namespace

TensorKernels tensorKernels(bool hasGroups) {
  if (hasGroups)
    return {groupKernelsPtx, groupKernelNames};
  return {warpKernelsPtx, warpKernelNames};
}

namespace {

/// Tensors of rows of a head's elements, as far as the call has them.
constexpr int headTensors[] = {WEFT_RT_ATTENTION_Q,    WEFT_RT_ATTENTION_K,
                               WEFT_RT_ATTENTION_V,    WEFT_RT_ATTENTION_OUT,
                               WEFT_RT_ATTENTION_DOUT, WEFT_RT_ATTENTION_DQ,
                               WEFT_RT_ATTENTION_DK,   WEFT_RT_ATTENTION_DV};
constexpr int64_t chunk = 8; // elements

int headOf(int tensor) {
  return tensor == WEFT_RT_ATTENTION_Q || tensor == WEFT_RT_ATTENTION_K ||
                 tensor == WEFT_RT_ATTENTION_DQ ||
                 tensor == WEFT_RT_ATTENTION_DK
             ? WEFT_RT_ATTENTION_DEPTH
             : WEFT_RT_ATTENTION_VALUE;
}

bool isOfGradient(int tensor) { return tensor >= WEFT_RT_ATTENTION_DOUT; }

bool isHead(const weft_rt_attention_dim &dim) {
  return dim.role == WEFT_RT_ATTENTION_DEPTH ||
         dim.role == WEFT_RT_ATTENTION_VALUE;
}

const char *sizeReason(const weft_rt_attention_dim &dim) {
  if (dim.size == 0)
    return "nothing to compute";
  if (isHead(dim) && dim.size > 128)
    return "more than 128 elements of a head";
  if (isHead(dim) && dim.size % chunk != 0)
    return "heads that are not a multiple of 8 elements";
  if (dim.size > tensorPositions)
    return "more than 2^28 positions";
  return nullptr;
}

bool liesInChunks(const weft_rt_attention &desc,
                  const weft_rt_attention_dim &dim) {
  for (int tensor : headTensors) {
    if (isOfGradient(tensor) && !desc.backward)
      continue;
    int64_t stride = dim.*detail::kStrideOf[tensor];
    bool hasElements = headOf(tensor) == dim.role;
    if (isHead(dim) ? hasElements && stride != 1
                    : dim.size > 1 && stride % chunk != 0)
      return false;
  }
  return true;
}

template <int Head, bool HasGroups>
AttentionLaunch launchOf(TensorKernel kind, int first,
                         const AttentionArgs &args) {
  using Tiles = TensorTiles<Head, HasGroups>;
  int64_t heads = args.batches * args.groups;
  auto tiles = [](int64_t count, int64_t tile) {
    return (count + tile - 1) / tile;
  };
  AttentionLaunch launch = {first + int(kind), 0, 0, 0};
  int warps = rowsWarps;
  switch (kind) {
  case TensorKernel::Rows:
    launch.blocks = heads * tiles(args.queries, tensorRows);
    break;
  case TensorKernel::Forward:
    launch.blocks = heads * tiles(args.queries, Tiles::forwardQueries);
    warps = Tiles::forwardWarps;
    launch.sharedBytes = Tiles::forwardBytes;
    break;
  case TensorKernel::Keys:
    launch.blocks = args.batches * tiles(args.keys, Tiles::keys);
    warps = Tiles::keysWarps;
    launch.sharedBytes = Tiles::keysBytes;
    break;
  case TensorKernel::Queries:
    launch.blocks = heads * tiles(args.queries, Tiles::gradientQueries);
    warps = Tiles::queriesWarps;
    launch.sharedBytes = Tiles::queriesBytes;
    break;
  }
  launch.threads = 32 * warps;
  // The rows' kernel is there once, before those for heads.
  if (Head == 128 && kind != TensorKernel::Rows)
    launch.kernel += 3;
  return launch;
}

const char *descriptorReason(const weft_rt_attention &desc) {
  if (desc.type != WEFT_RT_BF16 && desc.type != WEFT_RT_F16)
    return "f32";
  if (desc.leaves != 0)
    return "a declared order";
  if (desc.dropout > 0)
    return "dropout";
  if (desc.softcap != 0)
    return "a soft cap";
  if (!(desc.scale > 0))
    return "a scale that is not positive";
  for (int i = 0; i < desc.num_dims; ++i)
    if (const char *reason = sizeReason(desc.dims[i]))
      return reason;
  for (int i = 0; i < desc.num_dims; ++i)
    if (!liesInChunks(desc, desc.dims[i]))
      return "elements of heads that do not lie side by side in chunks of 16 "
             "bytes";
  return nullptr;
}

} // namespace

const char *tensorCoresReason(const weft_rt_attention &desc,
                              void *const *buffers) {
  if (const char *reason = descriptorReason(desc))
    return reason;
  for (int tensor :
       {WEFT_RT_ATTENTION_BIAS, WEFT_RT_ATTENTION_MASK,
        WEFT_RT_ATTENTION_Q_SEGMENTS, WEFT_RT_ATTENTION_K_SEGMENTS})
    if (buffers[tensor])
      return "a bias, a mask, or segments";
  for (int tensor : headTensors)
    if ((!isOfGradient(tensor) || desc.backward) &&
        reinterpret_cast<uintptr_t>(buffers[tensor]) % 16 != 0)
      return "a tensor that does not begin at a multiple of 16 bytes";
  return nullptr;
}

int64_t tensorScratchBytes(const weft_rt_attention &desc) {
  if (!desc.backward)
    return 0;
  AttentionArgs args = attentionArgs(desc, nullptr, 0, nullptr);
  return args.batches * args.groups * paddedQueries(args.queries) * 2 *
         int64_t(sizeof(float));
}

std::vector<AttentionLaunch>
tensorAttentionLaunches(const weft_rt_attention &desc,
                        const AttentionArgs &args, bool hasGroups) {
  bool isSmall = args.depth <= 64 && args.values <= 64;
  int first = desc.type == WEFT_RT_BF16 ? 0 : numTensorKernels / 2;
  auto launch = [&](TensorKernel kind) {
    if (hasGroups)
      return isSmall ? launchOf<64, true>(kind, first, args)
                     : launchOf<128, true>(kind, first, args);
    return isSmall ? launchOf<64, false>(kind, first, args)
                   : launchOf<128, false>(kind, first, args);
  };
  if (!desc.backward)
    return {launch(TensorKernel::Forward)};
  return {launch(TensorKernel::Rows), launch(TensorKernel::Keys),
          launch(TensorKernel::Queries)};
}

} // namespace weft::rt::cuda
