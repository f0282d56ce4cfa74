// SPDX-License-Identifier: Apache-2.0

// Dims of one role become one index, of as few dims as there can be. How C's
// rows and columns are numbered changes no bit; the order of K's dims stays.

#include "backends/cuda/ordered_gemm.h"

#include "backends/cuda/block.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

constexpr char kernelsPtx[] =
#include "backends/cuda/ordered_gemm_ptx.inc"
    ;

constexpr const char *kernelNames[numGemmKernels] = {
    "weft_gemm_f32_wide", "weft_gemm_f32_narrow", "weft_gemm_bf16_wide",
    "weft_gemm_bf16_narrow", "weft_gemm_f64_narrow"};

/// Adds a dim after the others, or to the last one if it nests in that.
void append(FlatDims &dims, const weft_rt_gemm_dim &dim) {
  dims.count *= dim.size;
  if (dim.size == 1)
    return;
  int32_t last = dims.num - 1;
  if (last >= 0 && dims.stridesA[last] == dim.stride_a * dim.size &&
      dims.stridesB[last] == dim.stride_b * dim.size &&
      dims.stridesC[last] == dim.stride_c * dim.size) {
    dims.sizes[last] *= dim.size;
  } else {
    last = dims.num++;
    dims.sizes[last] = dim.size;
  }
  dims.stridesA[last] = dim.stride_a;
  dims.stridesB[last] = dim.stride_b;
  dims.stridesC[last] = dim.stride_c;
}

/// The dims of a role; those of C with its nearest elements last.
FlatDims flatDims(const weft_rt_gemm &gemm, int32_t role) {
  std::vector<weft_rt_gemm_dim> found;
  for (int32_t i = 0; i < gemm.num_dims; ++i)
    if (gemm.dims[i].role == role)
      found.push_back(gemm.dims[i]);
  for (weft_rt_gemm_dim &dim : found) {
    dim.stride_a = role == WEFT_RT_GEMM_N ? 0 : dim.stride_a;
    dim.stride_b = role == WEFT_RT_GEMM_M ? 0 : dim.stride_b;
    dim.stride_c = role == WEFT_RT_GEMM_K ? 0 : dim.stride_c;
  }
  if (role != WEFT_RT_GEMM_K)
    std::stable_sort(
        found.begin(), found.end(),
        [](const auto &a, const auto &b) { return a.stride_c > b.stride_c; });
  FlatDims dims = {};
  dims.count = 1;
  for (const weft_rt_gemm_dim &dim : found)
    append(dims, dim);
  return dims;
}

/// The distance of elements side by side.
int64_t nearest(const FlatDims &dims,
                const int64_t (&strides)[FlatDims::most]) {
  return dims.num ? strides[dims.num - 1] : INT64_MAX;
}

int64_t squares(const OrderedGemmArgs &args, int64_t side) {
  return (args.rows.count + side - 1) / side *
         ((args.columns.count + side - 1) / side) * args.batch.count;
}

/// Chains in steps of pairs are part of a declared order alone.
bool hasPairs(const weft_rt_gemm &gemm) {
  return gemm.leaves > 0 && gemm.type_a == WEFT_RT_BF16 &&
         gemm.type_b == WEFT_RT_BF16;
}

bool fitsWide(const weft_rt_gemm &gemm, const OrderedGemmArgs &args) {
  bool roundsToF16 = args.rounded && gemm.type_c == WEFT_RT_F16;
  return gemm.type_c != WEFT_RT_F64 && !roundsToF16 &&
         args.leaves <= wideLeaves && args.rows.count > narrowTile &&
         args.columns.count > narrowTile;
}

GemmKernel kernelFor(const weft_rt_gemm &gemm, bool isWide) {
  if (gemm.type_c == WEFT_RT_F64)
    return GemmKernel::F64Narrow;
  if (hasPairs(gemm))
    return isWide ? GemmKernel::Bf16Wide : GemmKernel::Bf16Narrow;
  return isWide ? GemmKernel::F32Wide : GemmKernel::F32Narrow;
}

OrderedGemmArgs argsOf(const weft_rt_gemm &gemm, const Operands &operands) {
  OrderedGemmArgs args = {};
  args.a = operands.a;
  args.b = operands.b;
  args.c = operands.c;
  args.batch = flatDims(gemm, WEFT_RT_GEMM_BATCH);
  args.rows = flatDims(gemm, WEFT_RT_GEMM_M);
  args.columns = flatDims(gemm, WEFT_RT_GEMM_N);
  args.depth = flatDims(gemm, WEFT_RT_GEMM_K);
  args.leaves = args.depth.count ? std::max(1, gemm.leaves) : 1;
  args.typeA = gemm.type_a;
  args.typeB = gemm.type_b;
  args.typeC = gemm.type_c;
  args.accumulate = gemm.accumulate;
  bool isWhole = gemm.type_c == WEFT_RT_F32 || gemm.type_c == WEFT_RT_F64;
  args.rounded = gemm.rounded && !isWhole;
  args.isDepthDenseA = nearest(args.depth, args.depth.stridesA) <=
                       nearest(args.rows, args.rows.stridesA);
  args.isDepthDenseB = nearest(args.depth, args.depth.stridesB) <=
                       nearest(args.columns, args.columns.stridesB);
  return args;
}

} // namespace

OrderedGemmLaunch orderedGemmLaunch(const weft_rt_gemm &gemm,
                                    const Operands &operands) {
  OrderedGemmLaunch launch = {argsOf(gemm, operands), GemmKernel(), 0};
  bool isWide = fitsWide(gemm, launch.args);
  launch.kernel = kernelFor(gemm, isWide);
  launch.blocks = squares(launch.args, isWide ? wideTile : narrowTile);
  return launch;
}

Status OrderedGemm::start() {
  return kernels[0]
             ? Status()
             : device.loadKernels("the runtime's contractions", kernelsPtx,
                                  kernelNames, numGemmKernels, kernels);
}

Status OrderedGemm::run(const weft_rt_gemm &gemm, const Operands &operands,
                        CUstream_st *stream) const {
  OrderedGemmLaunch launch = orderedGemmLaunch(gemm, operands);
  if (launch.blocks > INT32_MAX)
    return invalid(format("gemm: %lld blocks of C are more than a launch has",
                          (long long)launch.blocks));
  void *params[] = {&launch.args};
  WEFT_CUDA_CALL(device.api, cuLaunchKernel, kernels[int(launch.kernel)],
                 unsigned(launch.blocks), 1, 1, unsigned(blockThreads), 1, 1, 0,
                 stream, params, nullptr);
  return Status();
}

} // namespace weft::rt::cuda
