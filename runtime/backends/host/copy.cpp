// SPDX-License-Identifier: Apache-2.0

// Dims at the end that are dense in both become one run of bytes; the others
// are loops.

#include "backends/host/copy.h"

#include <cstring>

namespace weft::rt {
namespace {

/// The loops around runs that are copied whole; strides in bytes.
struct Loops {
  weft_rt_copy_dim dims[WEFT_RT_COPY_MAX_DIMS];
  int32_t count;
  size_t run;
};

Loops loopsOf(const weft_rt_copy &copy) {
  Loops loops;
  loops.count = copy.num_dims;
  int64_t run = copy.element_bytes;
  for (int32_t i = 0; i < copy.num_dims; ++i)
    loops.dims[i] = {copy.dims[i].size,
                     copy.dims[i].stride_source * copy.element_bytes,
                     copy.dims[i].stride_target * copy.element_bytes};
  while (loops.count > 0) {
    const weft_rt_copy_dim &last = loops.dims[loops.count - 1];
    if (last.size != 1 &&
        (last.stride_source != run || last.stride_target != run))
      break;
    run *= last.size;
    --loops.count;
  }
  loops.run = size_t(run);
  return loops;
}

void copyLoop(const Loops &loops, int32_t depth, const char *source,
              char *target) {
  if (depth == loops.count) {
    std::memcpy(target, source, loops.run);
    return;
  }
  const weft_rt_copy_dim &dim = loops.dims[depth];
  for (int64_t i = 0; i < dim.size; ++i)
    copyLoop(loops, depth + 1, source + i * dim.stride_source,
             target + i * dim.stride_target);
}

} // namespace

void copyElements(const weft_rt_copy &copy, const void *source, void *target) {
  for (int32_t i = 0; i < copy.num_dims; ++i)
    if (copy.dims[i].size == 0)
      return;
  copyLoop(loopsOf(copy), 0, static_cast<const char *>(source),
           static_cast<char *>(target));
}

} // namespace weft::rt
