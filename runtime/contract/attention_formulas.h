// SPDX-License-Identifier: Apache-2.0

// The functions of attention, of operations that round alike everywhere: the
// same bits in all backends.
//
// As in core/float_formats.h, everything is in an anonymous namespace and
// nothing of a library is used. Traits say what a number is, of one float or of
// several: V, set, add, sub, mul, div, fma, selectLess (x < y ? a : b),
// selectNan (x if it is a NaN, else y), scaleByTwoTo (x times 2 to the number
// in the low bits of y), abs, copySign.

#ifndef WEFT_RT_CONTRACT_ATTENTION_FORMULAS_H
#define WEFT_RT_CONTRACT_ATTENTION_FORMULAS_H

#include <stdint.h>

namespace weft::rt {
namespace {

/// The score of a key that is not seen.
constexpr float kNone = -__builtin_inff();

/// e^x. With n = round(x / ln 2) and r = x - n ln 2, |r| <= ln 2 / 2, it is
/// 2^n e^r; adding 1.5 * 2^23 rounds, and leaves n in the low bits.
template <class T> inline typename T::V exponential(typename T::V x) {
  using V = typename T::V;
  const V magic = T::set(0x1.8p23f);
  V shifted = T::fma(x, T::set(0x1.715476p+0f), magic);
  V n = T::sub(shifted, magic);
  V r = T::fma(n, T::set(-0x1.62e430p-1f), x);
  r = T::fma(n, T::set(0x1.05c610p-29f), r);
  // (e^r - 1 - r) / r^2 within 2^-28 of e^r.
  V q = T::set(0x1.6a2318p-10f);
  q = T::fma(q, r, T::set(0x1.123a8ep-7f));
  q = T::fma(q, r, T::set(0x1.5558f6p-5f));
  q = T::fma(q, r, T::set(0x1.555490p-3f));
  q = T::fma(q, r, T::set(0x1.fffffcp-2f));
  V power = T::add(T::fma(q, T::mul(r, r), r), T::set(1.0f));
  V result = T::scaleByTwoTo(power, shifted);
  result = T::selectLess(x, T::set(-0x1.5d589ep+6f), T::set(0.0f), result);
  result = T::selectLess(T::set(0x1.62e42ep+6f), x, T::set(__builtin_inff()),
                         result);
  return T::selectNan(x, result);
}

template <class T> inline typename T::V tangent(typename T::V x) {
  using V = typename T::V;
  const V one = T::set(1.0f);
  V square = T::mul(x, x);
  // (tanh x - x) / x^3 within 2^-27 of tanh x, for |x| < 0.625.
  V q = T::set(-0x1.75e1c6p-8f);
  q = T::fma(q, square, T::set(0x1.522650p-6f));
  q = T::fma(q, square, T::set(-0x1.b83c5ap-5f));
  q = T::fma(q, square, T::set(0x1.110726p-3f));
  q = T::fma(q, square, T::set(-0x1.555532p-2f));
  V small = T::fma(T::mul(q, square), x, x);
  V size = T::abs(x);
  V power = exponential<T>(T::add(size, size));
  V large = T::sub(one, T::div(T::set(2.0f), T::add(power, one)));
  return T::selectLess(size, T::set(0.625f), small, T::copySign(large, x));
}

/// A counter, and then the random bits that threefry2x32 with 20 rounds makes
/// of it, as JAX has it. U: uint32_t, or a vector of them.
template <class U> struct RandomWords {
  U first, second;
};

template <class U>
inline void threefry(uint32_t low, uint32_t high, RandomWords<U> &words) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {low, high, low ^ high ^ 0x1bd11bdau};
  words.first = words.first + keys[0];
  words.second = words.second + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int by : rotations[group % 2]) {
      words.first = words.first + words.second;
      words.second = (words.second << by) | (words.second >> (32 - by));
      words.second = words.second ^ words.first;
    }
    words.first = words.first + keys[(group + 1) % 3];
    words.second = words.second + (keys[(group + 2) % 3] + uint32_t(group + 1));
  }
}

/// Keys whose bits are two words of each counter: those of key j are of counter
/// j / 32 * 16 + j mod 16, the first where j mod 32 < 16, else the second.
constexpr int64_t kKeysAtOnce = 32;

/// The first number of random bits that are not dropped.
inline uint32_t dropLimit(float dropout) {
  return uint32_t(double(dropout) * 0x1p32);
}

/// What a weight that is not dropped is multiplied by.
inline float retainedGain(float dropout) {
  return float(1 / (1 - double(dropout)));
}

/// log x, rounded from f64.
inline float logarithm(float x) {
  if (!(x > 0))
    return __builtin_nanf("");
  if (x == __builtin_inff())
    return x;
  // Of a float all exponents are normal in f64.
  const double wide = x;
  uint64_t bits;
  __builtin_memcpy(&bits, &wide, sizeof(bits));
  int exponent = int(bits >> 52) - 1022;
  const uint64_t half = (bits & 0xfffffffffffff) | uint64_t(1022) << 52;
  double mantissa;
  __builtin_memcpy(&mantissa, &half, sizeof(mantissa));
  if (mantissa < 0x1.6a09e6p-1) { // of [0.5, 1)
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)), |argument| < 0.172.
  const double argument = (mantissa - 1) / (mantissa + 1);
  const double square = argument * argument;
  double series = 0;
  for (int odd = 19; odd >= 1; odd -= 2)
    series = series * square + 1.0 / odd;
  return float(2 * argument * series + exponent * 0.693147180559945309417);
}

} // namespace
} // namespace weft::rt

#endif // WEFT_RT_CONTRACT_ATTENTION_FORMULAS_H
