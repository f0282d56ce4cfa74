// SPDX-License-Identifier: Apache-2.0

// Arithmetic modulo two primes p = 2q + 1. A number is a pair: what it is
// modulo p, and modulo q where it stands in an exponent. With g of order q
// modulo p, exp(x) = g^x is a function of x modulo q, with exp(x + y) = exp(x)
// * exp(y). What is an exponential has no second part.

#ifndef WEFT_LIB_VERIFY_IDENTITIES_FIELD_H
#define WEFT_LIB_VERIFY_IDENTITIES_FIELD_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mlir::weft {

inline constexpr uint64_t kOutside = 0x1ffffffffffff6bb;
inline constexpr uint64_t kInside = (kOutside - 1) / 2;
inline constexpr uint64_t kGenerator = 4; // a square is of order q

inline uint64_t mulMod(uint64_t a, uint64_t b, uint64_t modulus) {
  return uint64_t((unsigned __int128)a * b % modulus);
}

inline uint64_t addMod(uint64_t a, uint64_t b, uint64_t modulus) {
  return (a + b) % modulus; // both below 2^61
}

inline uint64_t powMod(uint64_t base, uint64_t exponent, uint64_t modulus) {
  uint64_t power = 1;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      power = mulMod(power, base, modulus);
    base = mulMod(base, base, modulus);
  }
  return power;
}

/// 0 of 0.
inline uint64_t invertMod(uint64_t a, uint64_t modulus) {
  return powMod(a, modulus - 2, modulus);
}

struct Number {
  uint64_t outside = 0, inside = 0;
  bool hasInside = true;
  /// -inf, or what stands for it; the parts are 0.
  bool isLowest = false;
  /// What stands for it.
  double low = 0;

  bool operator==(const Number &other) const {
    return outside == other.outside && isLowest == other.isLowest;
  }
};

/// A finite double, exactly.
Number makeNumber(double number);

Number operator+(const Number &a, const Number &b);
/// Nullopt: -inf times what is not known to be positive.
std::optional<Number> multiply(const Number &a, const Number &b);
/// 1 / a; nullopt of 0.
std::optional<Number> invert(const Number &a);

/// Mixes numbers that are taken as random ones.
class Mixer {
public:
  explicit Mixer(uint64_t seed) : state(seed) {}

  Mixer &add(uint64_t word);
  Mixer &add(const Number &number);
  Mixer &add(llvm::StringRef text);
  uint64_t getWord() const { return state; }
  bool getBit() const { return (state >> 33) % 4 != 0; }
  Number getNumber() const;

private:
  uint64_t state;
};

} // namespace mlir::weft

#endif // WEFT_LIB_VERIFY_IDENTITIES_FIELD_H
