// SPDX-License-Identifier: Apache-2.0

// Descriptors of products.

#include "product.h"

namespace weft::rt::detail {

void multiply(ProductSize size, const Matrix &a, const Matrix &b,
              const Matrix &c, Into into, int64_t leaves) {
  weft_rt_gemm desc{};
  desc.type_a = a.type;
  desc.type_b = b.type;
  desc.type_c = c.type;
  desc.accumulate = into == Into::Sum;
  desc.leaves = int32_t(leaves);
  desc.num_dims = 3;
  desc.dims[0] = {WEFT_RT_GEMM_M, size.rows, a.rowStride, 0, c.rowStride};
  desc.dims[1] = {WEFT_RT_GEMM_N, size.columns, 0, b.columnStride,
                  c.columnStride};
  desc.dims[2] = {WEFT_RT_GEMM_K, size.summed, a.columnStride, b.rowStride, 0};
  gemm(desc, a.data, b.data, const_cast<void *>(c.data), {});
}

void multiply(ProductSize size, const Matrix &a, const Matrix &b, float *c,
              int64_t strideC, Into into, int64_t leaves) {
  multiply(size, a, b, Matrix{WEFT_RT_F32, c, strideC, 1}, into, leaves);
}

} // namespace weft::rt::detail
