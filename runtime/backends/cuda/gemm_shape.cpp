// SPDX-License-Identifier: Apache-2.0

// Dims of one role that nest in all tensors are one dim. Then the largest M, N
// and K make the matrices, the largest of the others the batch, and what is
// left loops around it.

#include "backends/cuda/gemm.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

constexpr int64_t mostCalls = 64; // more of them, and our kernel is as good

using Dims = std::vector<weft_rt_gemm_dim>;

bool nests(const weft_rt_gemm_dim &outer, const weft_rt_gemm_dim &inner) {
  auto fits = [&](int64_t far, int64_t near) {
    return far == near * inner.size;
  };
  bool hasA = outer.role != WEFT_RT_GEMM_N, hasB = outer.role != WEFT_RT_GEMM_M,
       hasC = outer.role != WEFT_RT_GEMM_K;
  return outer.role == inner.role &&
         (!hasA || fits(outer.stride_a, inner.stride_a)) &&
         (!hasB || fits(outer.stride_b, inner.stride_b)) &&
         (!hasC || fits(outer.stride_c, inner.stride_c));
}

bool mergeOnce(Dims &dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    for (size_t j = 0; j < dims.size(); ++j)
      if (i != j && nests(dims[i], dims[j])) {
        dims[j].size *= dims[i].size;
        dims.erase(dims.begin() + int64_t(i));
        return true;
      }
  return false;
}

Dims mergedDims(const weft_rt_gemm &gemm) {
  Dims dims;
  for (int32_t i = 0; i < gemm.num_dims; ++i)
    if (gemm.dims[i].size != 1)
      dims.push_back(gemm.dims[i]);
  while (mergeOnce(dims)) {
  }
  return dims;
}

/// Takes the largest dim of a role out of the list; of size 1 if there is none.
weft_rt_gemm_dim takeLargest(Dims &dims, int32_t role) {
  auto best = dims.end();
  for (auto it = dims.begin(); it != dims.end(); ++it)
    if (it->role == role && (best == dims.end() || it->size > best->size))
      best = it;
  if (best == dims.end())
    return {role, 1, 0, 0, 0};
  weft_rt_gemm_dim dim = *best;
  dims.erase(best);
  return dim;
}

/// A matrix in columns, of which one dim is dense; dims of size 1 are as it
/// suits.
bool layMatrix(int64_t rows, int64_t rowStride, int64_t columns,
               int64_t columnStride, bool mayTranspose, LtShape::Matrix &to) {
  bool isDense = rowStride == 1 || rows == 1;
  bool isOther = columnStride == 1 || columns == 1;
  // Where both would do, the one whose other stride is a leading dimension.
  bool fits = isDense && (columns == 1 || columnStride >= rows);
  to.isTransposed = !fits;
  if (!fits && (!mayTranspose || !isOther))
    return false;
  to.rows = fits ? rows : columns;
  to.columns = fits ? columns : rows;
  int64_t given = fits ? columnStride : rowStride;
  to.ld = to.columns == 1 ? to.rows : given;
  return to.ld >= to.rows;
}

/// Outer dims: the largest is the batch, the others are loops.
bool layLoops(Dims outer, LtShape &shape) {
  int64_t calls = 1;
  auto largest = std::max_element(
      outer.begin(), outer.end(),
      [](const auto &a, const auto &b) { return a.size < b.size; });
  if (largest != outer.end()) {
    shape.batch = largest->size;
    bool swaps = shape.swapsOperands;
    shape.x.batchStride = swaps ? largest->stride_b : largest->stride_a;
    shape.y.batchStride = swaps ? largest->stride_a : largest->stride_b;
    shape.c.batchStride = largest->stride_c;
    outer.erase(largest);
  }
  for (const weft_rt_gemm_dim &dim : outer) {
    calls *= dim.size;
    shape.loops.push_back({dim.size, dim.stride_a, dim.stride_b, dim.stride_c});
  }
  return calls <= mostCalls;
}

/// cuBLASLt takes sizes of 32 bits.
bool isSmall(const LtShape::Matrix &matrix) {
  return matrix.rows > 0 && matrix.columns > 0 && matrix.rows <= INT32_MAX &&
         matrix.columns <= INT32_MAX && matrix.ld <= INT32_MAX;
}

} // namespace

std::optional<LtShape> ltShapeOf(const weft_rt_gemm &gemm) {
  Dims dims = mergedDims(gemm);
  weft_rt_gemm_dim m = takeLargest(dims, WEFT_RT_GEMM_M),
                   n = takeLargest(dims, WEFT_RT_GEMM_N),
                   k = takeLargest(dims, WEFT_RT_GEMM_K);
  bool sumsMore = std::any_of(dims.begin(), dims.end(), [](const auto &dim) {
    return dim.role == WEFT_RT_GEMM_K;
  });
  if (sumsMore)
    return std::nullopt;
  LtShape shape;
  // Rows of C that are dense are columns of what cuBLASLt sees.
  shape.swapsOperands = n.stride_c == 1 || (n.size == 1 && m.stride_c != 1);
  bool isLaid =
      shape.swapsOperands
          ? layMatrix(n.size, n.stride_b, k.size, k.stride_b, true, shape.x) &&
                layMatrix(k.size, k.stride_a, m.size, m.stride_a, true,
                          shape.y) &&
                layMatrix(n.size, n.stride_c, m.size, m.stride_c, false,
                          shape.c)
          : layMatrix(m.size, m.stride_a, k.size, k.stride_a, true, shape.x) &&
                layMatrix(k.size, k.stride_b, n.size, n.stride_b, true,
                          shape.y) &&
                layMatrix(m.size, m.stride_c, n.size, n.stride_c, false,
                          shape.c);
  if (!isLaid || !layLoops(dims, shape))
    return std::nullopt;
  if (!isSmall(shape.x) || !isSmall(shape.y) || !isSmall(shape.c) ||
      shape.batch <= 0 || shape.batch > INT32_MAX)
    return std::nullopt;
  return shape;
}

} // namespace weft::rt::cuda
