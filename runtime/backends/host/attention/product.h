// SPDX-License-Identifier: Apache-2.0

// Products of blocks by gemm, on the calling thread.

#ifndef WEFT_RT_ATTENTION_PRODUCT_H
#define WEFT_RT_ATTENTION_PRODUCT_H

#include "gemm.h"

namespace weft::rt::detail {

/// A block of a matrix: strides in elements.
struct Matrix {
  weft_rt_type type;
  const void *data;
  int64_t rowStride, columnStride;

  Matrix transposed() const { return {type, data, columnStride, rowStride}; }
};

struct ProductSize {
  int64_t rows, columns, summed;
};

/// Whether the result is added to what is there.
enum class Into { Empty, Sum };

/// C = A B, or C += A B; leaves as weft_rt_gemm has them. C is f32.
void multiply(ProductSize size, const Matrix &a, const Matrix &b, float *c,
              int64_t strideC, Into into, int64_t leaves);

/// The same into any C of f32.
void multiply(ProductSize size, const Matrix &a, const Matrix &b,
              const Matrix &c, Into into, int64_t leaves);

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_PRODUCT_H
