// SPDX-License-Identifier: Apache-2.0

// Scalar conversions between storage types and sums. Everything here has
// internal linkage: the file is compiled for several instruction sets, and the
// linker must not choose one of them for all.

#ifndef WEFT_RT_GEMM_CONVERT_H
#define WEFT_RT_GEMM_CONVERT_H

#include <cstdint>
#include <cstring>

namespace weft::rt::detail {
namespace {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline float bitsToFloat(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t floatToBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
inline float widen(Bf16 value) {
  return bitsToFloat(uint32_t(value.bits) << 16);
}

inline float widen(F16 value) {
  uint32_t sign = uint32_t(value.bits & 0x8000) << 16;
  uint32_t magnitude = value.bits & 0x7fff;
  if (magnitude >= 0x7c00) { // infinity, NaN
    uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    return bitsToFloat(sign | 0x7f800000 | quiet | (magnitude & 0x3ff) << 13);
  }
  if (magnitude < 0x400) // subnormal: an exact multiple of 2^-24
    return bitsToFloat(sign | floatToBits(float(magnitude) * 0x1p-24f));
  return bitsToFloat(sign | ((magnitude << 13) + 0x38000000));
}

inline void narrow(float value, float &out) { out = value; }
inline void narrow(double value, double &out) { out = value; }

inline void narrow(float value, Bf16 &out) {
  uint32_t bits = floatToBits(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  out.bits = uint16_t(isNan ? bits >> 16 | 0x40 : rounded);
}

inline void narrow(float value, F16 &out) {
  uint32_t bits = floatToBits(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    out.bits = uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  } else if (magnitude >= 0x477ff000) { // rounds to 2^16 or more
    out.bits = sign | 0x7c00;
  } else if (magnitude < 0x38800000) { // below 2^-14: multiples of 2^-24
    float shifted = bitsToFloat(magnitude) + 0.5f;
    out.bits = uint16_t(sign | (floatToBits(shifted) - 0x3f000000));
  } else {
    uint32_t odd = magnitude >> 13 & 1;
    out.bits = uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
  }
}

} // namespace
} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_CONVERT_H
