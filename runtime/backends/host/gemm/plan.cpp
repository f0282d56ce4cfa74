// SPDX-License-Identifier: Apache-2.0

// Classifies, sorts and merges the dimensions of a contraction. Only the order
// of K is part of the result's bits, so K is merged but never reordered.

#include "plan.h"

#include <algorithm>

namespace weft::rt::detail {

static DimGroup &groupOf(Plan &plan, const weft_rt_gemm_dim &dim) {
  switch (dim.role) {
  case WEFT_RT_GEMM_M:
    return plan.m;
  case WEFT_RT_GEMM_N:
    return plan.n;
  case WEFT_RT_GEMM_K:
    return plan.k;
  default:
    break;
  }
  // A batch dimension over which one operand does not change is a row or
  // column dimension: the other operand's block is then packed once.
  if (dim.stride_b == 0)
    return plan.m;
  if (dim.stride_a == 0)
    return plan.n;
  return plan.batch;
}

static void append(DimGroup &group, const Dim &dim) {
  group.size *= dim.size;
  if (dim.size != 1)
    group.dims[group.count++] = dim;
}

/// Sorts by descending stride of C, and keeps the order of equal ones. Few
/// dims, and no memory is allocated, as std::stable_sort would.
static void sortByC(DimGroup &group) {
  for (int i = 1; i < group.count; ++i)
    for (int k = i; k > 0 && group.dims[k - 1].c < group.dims[k].c; --k)
      std::swap(group.dims[k - 1], group.dims[k]);
}

/// Merges neighbours that address memory like one dimension in A, B and C.
static void collapse(DimGroup &group) {
  int last = 0;
  for (int i = 1; i < group.count; ++i) {
    Dim &major = group.dims[last];
    const Dim &minor = group.dims[i];
    if (major.a == minor.a * minor.size && major.b == minor.b * minor.size &&
        major.c == minor.c * minor.size)
      major = {major.size * minor.size, minor.a, minor.b, minor.c};
    else
      group.dims[++last] = minor;
  }
  if (group.count)
    group.count = last + 1;
}

static bool hasUnitC(const DimGroup &group) {
  return group.count && group.dims[group.count - 1].c == 1;
}

/// N is the vector side: it wants C's unit stride, and enough elements to fill
/// a vector.
static bool wantsSwap(const Plan &plan) {
  constexpr int64_t narrow = 8;
  if (plan.n.size < narrow && plan.m.size > plan.n.size)
    return true;
  if (plan.m.size < narrow)
    return false;
  return !hasUnitC(plan.n) && hasUnitC(plan.m);
}

static void swapSides(Plan &plan) {
  std::swap(plan.m, plan.n);
  std::swap(plan.typeA, plan.typeB);
  for (DimGroup *group : {&plan.batch, &plan.m, &plan.n, &plan.k})
    for (int i = 0; i < group->count; ++i)
      std::swap(group->dims[i].a, group->dims[i].b);
  plan.swapped = true;
}

Plan makePlan(const weft_rt_gemm &desc) {
  Plan plan;
  plan.typeA = desc.type_a;
  plan.typeB = desc.type_b;
  plan.typeC = desc.type_c;
  plan.accumulate = desc.accumulate != 0;
  plan.leaves = desc.leaves;
  plan.rounded = desc.leaves > 0 && desc.rounded != 0;
  plan.swapped = false;
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_gemm_dim &dim = desc.dims[i];
    bool inA = dim.role != WEFT_RT_GEMM_N, inB = dim.role != WEFT_RT_GEMM_M,
         inC = dim.role != WEFT_RT_GEMM_K;
    append(groupOf(plan, dim),
           {dim.size, inA ? dim.stride_a : 0, inB ? dim.stride_b : 0,
            inC ? dim.stride_c : 0});
  }
  for (DimGroup *group : {&plan.batch, &plan.m, &plan.n})
    sortByC(*group);
  for (DimGroup *group : {&plan.batch, &plan.m, &plan.n, &plan.k})
    collapse(*group);
  if (wantsSwap(plan))
    swapSides(plan);
  return plan;
}

void fillOffsets(const DimGroup &group, int64_t Dim::*stride, int64_t begin,
                 int64_t count, int64_t *out) {
  if (group.count == 0) {
    std::fill_n(out, count, int64_t(0));
    return;
  }
  const Dim &inner = group.dims[group.count - 1];
  for (int64_t done = 0; done < count;) {
    int64_t rest = (begin + done) / inner.size;
    int64_t first = (begin + done) % inner.size;
    int64_t run = std::min(inner.size - first, count - done);
    int64_t offset = first * (inner.*stride);
    for (int i = group.count - 2; i >= 0; --i) {
      offset += rest % group.dims[i].size * (group.dims[i].*stride);
      rest /= group.dims[i].size;
    }
    for (int64_t i = 0; i < run; ++i)
      out[done + i] = offset + i * (inner.*stride);
    done += run;
  }
}

bool isUniform(const int64_t *offsets, int64_t count, int64_t step) {
  for (int64_t i = 1; i < count; ++i)
    if (offsets[i] - offsets[i - 1] != step)
      return false;
  return true;
}

} // namespace weft::rt::detail
