// SPDX-License-Identifier: Apache-2.0

// A descriptor brought to the shape that the blocked loops want: one flattened
// index per role, unit dimensions dropped, neighbours with fitting strides
// merged, and the side of C with unit stride made the vector side N.

#ifndef WEFT_RT_GEMM_PLAN_H
#define WEFT_RT_GEMM_PLAN_H

#include "weft-rt/abi.h"

#include <cstdint>

namespace weft::rt::detail {

struct Dim {
  int64_t size, a, b, c;
};

/// Dimensions of one role, major first; `size` is their product.
struct DimGroup {
  Dim dims[WEFT_RT_GEMM_MAX_DIMS];
  int count = 0;
  int64_t size = 1;
};

struct Plan {
  DimGroup batch, m, n, k;
  weft_rt_type typeA, typeB, typeC;
  bool accumulate;
  int64_t leaves; // 0: any order
  bool rounded;   // leaves and joins, to C's type
  bool swapped;   // A and B exchanged: the caller exchanges the pointers
};

Plan makePlan(const weft_rt_gemm &desc);

/// out[i] = the offset of flattened index begin + i along one of Dim's strides.
void fillOffsets(const DimGroup &group, int64_t Dim::*stride, int64_t begin,
                 int64_t count, int64_t *out);

/// Whether offsets[i + 1] - offsets[i] is `step` throughout.
bool isUniform(const int64_t *offsets, int64_t count, int64_t step);

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_PLAN_H
