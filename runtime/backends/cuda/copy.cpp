// SPDX-License-Identifier: Apache-2.0

// All is first said in bytes; then the largest unit is taken that divides
// everything: strides, addresses, and the innermost run.

#include "backends/cuda/copy.h"

namespace weft::rt::cuda {

int64_t sourceExtent(const weft_rt_copy &copy) {
  int64_t last = 0;
  for (int32_t i = 0; i < copy.num_dims; ++i) {
    if (copy.dims[i].size == 0)
      return 0;
    last += (copy.dims[i].size - 1) * copy.dims[i].stride_source;
  }
  return (last + 1) * copy.element_bytes;
}

CopyArgs copyArgs(const weft_rt_copy &copy, const void *source, void *target) {
  CopyArgs args = {};
  args.source = source;
  args.target = target;
  int64_t run = copy.element_bytes, loops = 1; // bytes
  int32_t dims = copy.num_dims;
  auto isDense = [&](const weft_rt_copy_dim &dim) {
    return dim.size == 1 || (dim.stride_source * copy.element_bytes == run &&
                             dim.stride_target * copy.element_bytes == run);
  };
  for (; dims > 0 && isDense(copy.dims[dims - 1]); --dims)
    run *= copy.dims[dims - 1].size;
  uint64_t all = uint64_t(run) | reinterpret_cast<uintptr_t>(source) |
                 reinterpret_cast<uintptr_t>(target) | 16;
  for (int32_t i = 0; i < dims; ++i) {
    const weft_rt_copy_dim &dim = copy.dims[i];
    all |= uint64_t(dim.stride_source * copy.element_bytes) |
           uint64_t(dim.stride_target * copy.element_bytes);
    loops *= dim.size;
  }
  int64_t unit = int64_t(all & -all);
  for (int32_t i = 0; i < dims; ++i) {
    const weft_rt_copy_dim &dim = copy.dims[i];
    args.sizes[i] = dim.size;
    args.sourceStrides[i] = dim.stride_source * copy.element_bytes / unit;
    args.targetStrides[i] = dim.stride_target * copy.element_bytes / unit;
  }
  args.numDims = dims;
  if (run != unit) {
    args.sizes[dims] = run / unit;
    args.sourceStrides[dims] = args.targetStrides[dims] = 1;
    args.numDims = dims + 1;
  }
  args.unit = int32_t(unit);
  args.count = loops * (run / unit);
  return args;
}

bool isPlain(const CopyArgs &args) {
  return args.numDims == 0 ||
         (args.numDims == 1 && args.sourceStrides[0] == 1 &&
          args.targetStrides[0] == 1);
}

} // namespace weft::rt::cuda
