// SPDX-License-Identifier: Apache-2.0

// Row kernels for any processor.

#include "rows_template.h"

#include <cmath>

namespace weft::rt::detail {
namespace {

struct ScalarLanes {
  struct V {
    float lane[kLanes];
  };

  template <class Body> static V each(Body body) {
    V result;
    for (int i = 0; i < kLanes; ++i)
      result.lane[i] = body(i);
    return result;
  }
  static V set(float value) {
    return each([&](int) { return value; });
  }
  static V load(const float *from) {
    return each([&](int i) { return from[i]; });
  }
  static void store(float *to, const V &x) {
    for (int i = 0; i < kLanes; ++i)
      to[i] = x.lane[i];
  }
  static V add(const V &x, const V &y) {
    return each([&](int i) { return x.lane[i] + y.lane[i]; });
  }
  static V sub(const V &x, const V &y) {
    return each([&](int i) { return x.lane[i] - y.lane[i]; });
  }
  static V mul(const V &x, const V &y) {
    return each([&](int i) { return x.lane[i] * y.lane[i]; });
  }
  static V div(const V &x, const V &y) {
    return each([&](int i) { return x.lane[i] / y.lane[i]; });
  }
  static V fma(const V &x, const V &y, const V &z) {
    return each(
        [&](int i) { return std::fma(x.lane[i], y.lane[i], z.lane[i]); });
  }
  static V larger(const V &x, const V &y) {
    return each(
        [&](int i) { return x.lane[i] > y.lane[i] ? x.lane[i] : y.lane[i]; });
  }
  static V selectLess(const V &x, const V &y, const V &a, const V &b) {
    return each(
        [&](int i) { return x.lane[i] < y.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static V selectNan(const V &x, const V &y) {
    return each(
        [&](int i) { return x.lane[i] != x.lane[i] ? x.lane[i] : y.lane[i]; });
  }
  static V scaleByTwoTo(const V &x, const V &y) {
    return each([&](int i) {
      return bitsToFloat(floatToBits(x.lane[i]) +
                         (floatToBits(y.lane[i]) << 23));
    });
  }
  static V abs(const V &x) {
    return each([&](int i) { return std::fabs(x.lane[i]); });
  }
  static V copySign(const V &size, const V &sign) {
    return each(
        [&](int i) { return std::copysign(size.lane[i], sign.lane[i]); });
  }
  static void storeBf16(uint16_t *to, const V &x) {
    for (int i = 0; i < kLanes; ++i) {
      Bf16 value;
      narrow(x.lane[i], value);
      to[i] = value.bits;
    }
  }
};

} // namespace

const RowKernels kScalarRows = makeRowKernels<ScalarLanes>();

} // namespace weft::rt::detail
