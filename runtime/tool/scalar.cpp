// SPDX-License-Identifier: Apache-2.0

// Nine digits identify any f32, and so any narrower float; seventeen any f64.

#include "tool/scalar.h"

#include "core/status.h"

#include <cmath>
#include <cstring>

namespace weft::rt {
namespace {

template <typename T> T read(const void *data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

float floatOfBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  return read<float>(&wide);
}

float floatOfF16(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, significand = bits & 0x3ff;
  float magnitude;
  if (exponent == 0x1f)
    magnitude = significand ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(float(significand), -24);
  else
    magnitude = std::ldexp(float(significand | 0x400), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::string integerText(int64_t value) { return std::to_string(value); }

} // namespace

bool canPrint(weft_rt_type type) { return type <= WEFT_RT_F64; }

std::string scalarText(weft_rt_type type, const void *data) {
  switch (type) {
  case WEFT_RT_I1:
  case WEFT_RT_U8:
    return integerText(read<uint8_t>(data));
  case WEFT_RT_I8:
    return integerText(read<int8_t>(data));
  case WEFT_RT_I16:
    return integerText(read<int16_t>(data));
  case WEFT_RT_U16:
    return integerText(read<uint16_t>(data));
  case WEFT_RT_I32:
    return integerText(read<int32_t>(data));
  case WEFT_RT_U32:
    return integerText(read<uint32_t>(data));
  case WEFT_RT_I64:
    return integerText(read<int64_t>(data));
  case WEFT_RT_U64:
    return std::to_string(read<uint64_t>(data));
  case WEFT_RT_F16:
    return format("%.9g", floatOfF16(read<uint16_t>(data)));
  case WEFT_RT_BF16:
    return format("%.9g", floatOfBf16(read<uint16_t>(data)));
  case WEFT_RT_F32:
    return format("%.9g", read<float>(data));
  case WEFT_RT_F64:
    return format("%.17g", read<double>(data));
  default:
    return "?";
  }
}

} // namespace weft::rt
