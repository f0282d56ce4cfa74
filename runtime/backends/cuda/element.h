// SPDX-License-Identifier: Apache-2.0

// Elements of tensors as kernels compute with them.

#ifndef WEFT_RT_CUDA_ELEMENT_H
#define WEFT_RT_CUDA_ELEMENT_H

#include "core/float_formats.h"
#include "weft-rt/abi.h"

namespace weft::rt::cuda {
namespace {

/// An element of f32, f64, bf16 or f16, widened.
template <typename Value>
Value loadElement(int32_t type, const void *data, int64_t at) {
  switch (type) {
  case WEFT_RT_BF16:
    return Value(BFloat16::load(static_cast<const uint16_t *>(data)[at]));
  case WEFT_RT_F16:
    return Value(Float16::load(static_cast<const uint16_t *>(data)[at]));
  case WEFT_RT_F64:
    return Value(static_cast<const double *>(data)[at]);
  default:
    return Value(static_cast<const float *>(data)[at]);
  }
}

/// Rounds to the type.
template <typename Value>
void storeElement(int32_t type, void *data, int64_t at, Value value) {
  switch (type) {
  case WEFT_RT_BF16:
    static_cast<uint16_t *>(data)[at] = BFloat16::store(float(value));
    return;
  case WEFT_RT_F16:
    static_cast<uint16_t *>(data)[at] = Float16::store(float(value));
    return;
  case WEFT_RT_F64:
    static_cast<double *>(data)[at] = double(value);
    return;
  default:
    static_cast<float *>(data)[at] = float(value);
  }
}

/// The number that a type has for a value.
template <typename Value> Value roundedTo(int32_t type, Value value) {
  switch (type) {
  case WEFT_RT_BF16:
    return Value(BFloat16::load(BFloat16::store(float(value))));
  case WEFT_RT_F16:
    return Value(Float16::load(Float16::store(float(value))));
  default:
    return value;
  }
}

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ELEMENT_H
