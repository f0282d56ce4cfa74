// SPDX-License-Identifier: Apache-2.0

// How float types are stored, and in which type they are combined: what the
// reductions of all backends have in common, with the same bits.
//
// Everything is in an anonymous namespace and no library template is used:
// files are compiled for several instruction sets, and for GPUs, and none may
// get a function of another one from the linker.

#ifndef WEFT_RT_CORE_FLOAT_FORMATS_H
#define WEFT_RT_CORE_FLOAT_FORMATS_H

#include <stdint.h>

namespace weft::rt {
namespace {

template <typename To, typename From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// ---- formats: how a type is stored, and in which type it is combined -------
// `store` rounds to the nearest, ties to even. For trees, `round` is load of
// store for the result of an operation, and `narrow` stores what is rounded.

template <typename T> struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored x) { return x; }
  static Stored store(Value x) { return x; }
  static Value round(Value x) { return x; }
  static Stored narrow(Value x) { return x; }
};

struct BFloat16 {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored x) { return bitsAs<float>(uint32_t(x) << 16); }
  static Stored store(Value x) {
    uint32_t bits = bitsAs<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x != x ? Stored(bits >> 16 | 0x40) : Stored(rounded);
  }
  /// A NaN that comes of two values of this type has no bits to round off.
  static Value round(Value x) {
    uint32_t bits = bitsAs<uint32_t>(x);
    return bitsAs<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
  }
  static Stored narrow(Value x) { return Stored(bitsAs<uint32_t>(x) >> 16); }
};

struct Float16 {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored x) {
    uint32_t sign = uint32_t(x & 0x8000) << 16;
    uint32_t magnitude = uint32_t(x & 0x7fff) << 13;
    // Rebias the exponent by a product, which is right for subnormals too.
    float scaled = bitsAs<float>(magnitude) * 0x1p112f;
    uint32_t bits = bitsAs<uint32_t>(scaled);
    bits |= (x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    return bitsAs<float>(bits | sign);
  }
  static Stored store(Value x) {
    uint32_t bits = bitsAs<uint32_t>(x);
    uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    // Normal results: rebias and round in integers. Subnormal ones: adding 0.5
    // puts the last bit that counts at the end of the significand.
    uint32_t normal = (bits - 0x38000000u + 0xfff + (bits >> 13 & 1)) >> 13;
    uint32_t subnormal =
        bitsAs<uint32_t>(bitsAs<float>(bits) + 0.5f) - 0x3f000000u;
    uint32_t small = bits < 0x38800000u ? subnormal : normal;
    uint32_t special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return Stored(sign | (bits >= 0x477ff000u ? special : small));
  }
  static Value round(Value x) { return load(store(x)); }
  static Stored narrow(Value x) { return store(x); }
};

/// An 8-bit float with `ManBits` bits of significand after the point.
template <int ManBits, int Bias, bool HasInfinity> struct Float8 {
  using Stored = uint8_t;
  using Value = float;
  static constexpr uint32_t topExponent = (1u << (7 - ManBits)) - 1;
  static constexpr uint32_t manMask = (1u << ManBits) - 1;
  /// The largest finite magnitude, as stored.
  static constexpr uint32_t largest =
      HasInfinity ? (topExponent << ManBits) - 1 : 0x7e;
  /// The NaN that computations give, in compiled code as well.
  static constexpr Stored nan = HasInfinity ? 0x7e : 0x7f;

  static Value load(Stored x) {
    uint32_t magnitude = x & 0x7f;
    // The same rebias as for f16.
    float value = bitsAs<float>(magnitude << (23 - ManBits)) *
                  bitsAs<float>(uint32_t(127 + 127 - Bias) << 23);
    uint32_t bits = bitsAs<uint32_t>(value);
    if (magnitude > largest)
      bits = HasInfinity && (x & manMask) == 0 ? 0x7f800000u : 0x7fc00000u;
    return bitsAs<float>(bits | uint32_t(x & 0x80) << 24);
  }

  static Stored store(Value x) {
    uint32_t bits = bitsAs<uint32_t>(x);
    uint32_t sign = bits >> 24 & 0x80;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000u)
      return nan;
    constexpr int shift = 23 - ManBits;
    constexpr uint32_t smallestNormal = uint32_t(127 - Bias + 1) << 23;
    uint32_t rounded;
    if (bits < smallestNormal) {
      // The unit of this sum is the format's smallest subnormal.
      float magic = bitsAs<float>(uint32_t(127 - Bias + 1 + shift) << 23);
      rounded = bitsAs<uint32_t>(bitsAs<float>(bits) + magic) -
                bitsAs<uint32_t>(magic);
    } else {
      uint32_t odd = bits >> shift & 1;
      rounded = (bits - (uint32_t(127 - Bias) << 23) + (1u << (shift - 1)) - 1 +
                 odd) >>
                shift;
    }
    if (rounded > largest)
      rounded = HasInfinity ? topExponent << ManBits : 0x7f;
    return Stored(sign | rounded);
  }

  static Value round(Value x) { return load(store(x)); }
  static Stored narrow(Value x) { return store(x); }
};

using F8E4M3 = Float8<3, 7, false>;
using F8E5M2 = Float8<2, 15, true>;

} // namespace
} // namespace weft::rt

#endif // WEFT_RT_CORE_FLOAT_FORMATS_H
