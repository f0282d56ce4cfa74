// SPDX-License-Identifier: Apache-2.0

// Floats are described by their field widths and decoded by the definition;
// encoding is a binary search among all encodings, which are in the order of
// their magnitudes.

#include "element.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace weft::rt::cts {
namespace {

struct FloatFormat {
  int bits, significand, bias;
  bool hasInfinity;
};

FloatFormat formatOf(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_F16:
    return {16, 10, 15, true};
  case WEFT_RT_BF16:
    return {16, 7, 127, true};
  case WEFT_RT_F8E5M2:
    return {8, 2, 15, true};
  default:
    return {8, 3, 7, false}; // f8E4M3FN
  }
}

int widthOf(weft_rt_type type) {
  constexpr int widths[] = {8,  8,  8,  16, 16, 32, 32, 64, 64,
                            16, 16, 32, 64, 8,  8,  8,  4};
  return widths[type];
}

bool isSigned(weft_rt_type type) {
  return type == WEFT_RT_I8 || type == WEFT_RT_I16 || type == WEFT_RT_I32 ||
         type == WEFT_RT_I64;
}

uint64_t maskOf(weft_rt_type type) {
  return widthOf(type) == 64 ? ~uint64_t(0)
                             : (uint64_t(1) << widthOf(type)) - 1;
}

/// The magnitude's code of the largest finite value.
uint64_t largestCode(const FloatFormat &format) {
  uint64_t all = (uint64_t(1) << (format.bits - 1)) - 1;
  return format.hasInfinity ? all - (uint64_t(1) << format.significand)
                            : all - 1;
}

double computeMagnitude(const FloatFormat &format, uint64_t code) {
  uint64_t significand = code & ((uint64_t(1) << format.significand) - 1);
  int exponent = int(code >> format.significand);
  if (exponent == 0)
    return std::ldexp(double(significand),
                      1 - format.bias - format.significand);
  return std::ldexp(double(significand + (uint64_t(1) << format.significand)),
                    exponent - format.bias - format.significand);
}

/// The magnitudes of all codes of a format, also beyond the largest.
template <weft_rt_type type> const std::vector<double> &magnitudeTable() {
  static const std::vector<double> table = [] {
    FloatFormat format = formatOf(type);
    std::vector<double> values(size_t(1) << (format.bits - 1));
    for (size_t code = 0; code < values.size(); ++code)
      values[code] = computeMagnitude(format, code);
    return values;
  }();
  return table;
}

const std::vector<double> &magnitudesOf(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_F16:
    return magnitudeTable<WEFT_RT_F16>();
  case WEFT_RT_BF16:
    return magnitudeTable<WEFT_RT_BF16>();
  case WEFT_RT_F8E5M2:
    return magnitudeTable<WEFT_RT_F8E5M2>();
  default:
    return magnitudeTable<WEFT_RT_F8E4M3FN>();
  }
}

double decodeNarrow(weft_rt_type type, uint64_t bits) {
  FloatFormat format = formatOf(type);
  uint64_t code = bits & ((uint64_t(1) << (format.bits - 1)) - 1);
  double sign = bits >> (format.bits - 1) ? -1 : 1;
  if (code <= largestCode(format))
    return sign * magnitudesOf(type)[code];
  bool isInfinity = format.hasInfinity && code == largestCode(format) + 1;
  return isInfinity ? sign * std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
}

uint64_t encodeMagnitude(weft_rt_type type, double magnitude) {
  const std::vector<double> &values = magnitudesOf(type);
  uint64_t low = 0, high = largestCode(formatOf(type)) + 1; // beyond
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    (values[middle] <= magnitude ? low : high) = middle;
  }
  double half = (values[low] + values[low + 1]) / 2;
  bool up = magnitude > half || (magnitude == half && low % 2 == 1);
  return low + up;
}

template <typename To, typename From> To bitCast(From from) {
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

int64_t signExtend(weft_rt_type type, uint64_t bits) {
  int shift = 64 - widthOf(type);
  return int64_t(bits << shift) >> shift;
}

bool less(weft_rt_type type, uint64_t a, uint64_t b) {
  return isSigned(type) ? signExtend(type, a) < signExtend(type, b) : a < b;
}

/// maximum and minimum of IEEE 754-2019: NaN wins, -0 is below +0.
double extreme(bool wantMax, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  bool aIsLess = a < b || (a == b && std::signbit(a));
  return aIsLess == wantMax ? b : a;
}

} // namespace

uint64_t getElement(weft_rt_type type, const Bytes &buffer, int64_t index) {
  if (widthOf(type) == 4)
    return buffer[index / 2] >> (index % 2 * 4) & 0xf;
  int width = widthOf(type) / 8;
  uint64_t bits = 0;
  for (int i = width - 1; i >= 0; --i)
    bits = bits << 8 | buffer[index * width + i];
  return bits;
}

void setElement(weft_rt_type type, Bytes &buffer, int64_t index,
                uint64_t bits) {
  if (widthOf(type) == 4) {
    uint8_t &byte = buffer[index / 2];
    byte = index % 2 ? (byte & 0x0f) | bits << 4 : (byte & 0xf0) | bits;
    return;
  }
  int width = widthOf(type) / 8;
  for (int i = 0; i < width; ++i)
    buffer[index * width + i] = bits >> (8 * i) & 0xff;
}

Bytes randomElements(weft_rt_type type, int64_t count, uint64_t seed) {
  Bytes buffer((count * widthOf(type) + 7) / 8);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < count; ++i)
    setElement(type, buffer, i,
               random() & (type == WEFT_RT_I1 ? 1 : maskOf(type)));
  return buffer;
}

Bytes randomNumbers(weft_rt_type type, int64_t count, uint64_t seed) {
  Bytes buffer = randomElements(type, count, seed);
  if (!isFloat(type))
    return buffer;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> moderate(-3, 3);
  double limit = std::numeric_limits<double>::infinity();
  double special[] = {0.0, -0.0, limit, -limit, std::nan(""), 1e-42, 1e-5};
  for (int64_t i = 0; i < count; ++i) {
    bool isSpecial = random() % 16 == 0;
    double value = isSpecial ? special[random() % 7] : moderate(random);
    setElement(type, buffer, i, encode(type, float(value)));
  }
  return buffer;
}

bool isFloat(weft_rt_type type) {
  return type >= WEFT_RT_F16 && type <= WEFT_RT_F8E5M2;
}

double decode(weft_rt_type type, uint64_t bits) {
  if (type == WEFT_RT_F64)
    return bitCast<double>(bits);
  if (type == WEFT_RT_F32)
    return bitCast<float>(uint32_t(bits));
  return decodeNarrow(type, bits);
}

uint64_t encode(weft_rt_type type, double value) {
  if (type == WEFT_RT_F64)
    return bitCast<uint64_t>(value);
  if (type == WEFT_RT_F32)
    return bitCast<uint32_t>(float(value));
  uint64_t all = magnitudesOf(type).size() - 1;
  uint64_t sign = std::signbit(value) ? all + 1 : 0;
  if (std::isnan(value))
    return sign | all;
  return sign | encodeMagnitude(type, std::fabs(value));
}

double combineFloats(weft_rt_type type, weft_rt_reduction reduction, double a,
                     double b) {
  if (reduction == WEFT_RT_MAX || reduction == WEFT_RT_MIN)
    return extreme(reduction == WEFT_RT_MAX, a, b);
  bool isSum = reduction == WEFT_RT_SUM;
  if (type == WEFT_RT_F64)
    return isSum ? a + b : a * b;
  return isSum ? float(a) + float(b) : float(a) * float(b);
}

uint64_t combineIntegers(weft_rt_type type, weft_rt_reduction reduction,
                         uint64_t a, uint64_t b) {
  bool isScale = type == WEFT_RT_F8E8M0FNU;
  if (isScale && (a == 0xff || b == 0xff))
    return 0xff;
  switch (reduction) {
  case WEFT_RT_SUM:
    return (a + b) & maskOf(type);
  case WEFT_RT_PROD:
    return a * b & maskOf(type);
  case WEFT_RT_MAX:
    return less(type, a, b) ? b : a;
  case WEFT_RT_MIN:
    return less(type, a, b) ? a : b;
  case WEFT_RT_AND:
    return a & b;
  case WEFT_RT_OR:
    return a | b;
  }
  return 0;
}

bool mayReduce(weft_rt_type type, weft_rt_reduction reduction) {
  bool isLogical = reduction == WEFT_RT_AND || reduction == WEFT_RT_OR;
  bool isExtreme = reduction == WEFT_RT_MAX || reduction == WEFT_RT_MIN;
  if (type == WEFT_RT_I1)
    return isLogical || isExtreme;
  if (type == WEFT_RT_F8E8M0FNU)
    return isExtreme;
  if (type == WEFT_RT_F4E2M1FN)
    return false;
  return !(isLogical && isFloat(type));
}

} // namespace weft::rt::cts
