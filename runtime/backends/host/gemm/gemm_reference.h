// SPDX-License-Identifier: Apache-2.0

// The naive evaluation of the order that gemm documents, and what reads and
// writes elements of any type.

#ifndef WEFT_RT_GEMM_GEMM_REFERENCE_H
#define WEFT_RT_GEMM_GEMM_REFERENCE_H

#include "gemm.h"

#include <cstdint>
#include <vector>

namespace weft::rt::test {

int64_t bytesOf(weft_rt_type type);
double readAs(const void *data, weft_rt_type type, int64_t index);
/// Rounds to `type`.
void writeAs(void *data, weft_rt_type type, int64_t index, double value);

/// a + b, rounded to the accumulator's type, or with `rounded` to C's.
double join(const weft_rt_gemm &desc, double a, double b);

/// C after desc, one scalar operation at a time; `isa` matters for bf16 without
/// an order.
std::vector<char> evaluate(const weft_rt_gemm &desc, Isa isa, const char *a,
                           const char *b, std::vector<char> c);

/// Calls body(offsets in A, B, C) over the dimensions whose role is K, or is
/// not, in the descriptor's order.
template <class Body>
void walk(const weft_rt_gemm &desc, bool overK, Body body) {
  std::vector<weft_rt_gemm_dim> dims;
  for (int i = 0; i < desc.num_dims; ++i)
    if ((desc.dims[i].role == WEFT_RT_GEMM_K) == overK)
      dims.push_back(desc.dims[i]);
  int64_t count = 1;
  for (const weft_rt_gemm_dim &dim : dims)
    count *= dim.size;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, a = 0, b = 0, c = 0;
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i].size) {
      int64_t index = rest % dims[i].size;
      a += index * dims[i].stride_a;
      b += index * dims[i].stride_b;
      c += index * dims[i].stride_c;
    }
    body(a, b, c);
  }
}

} // namespace weft::rt::test

#endif // WEFT_RT_GEMM_GEMM_REFERENCE_H
