// SPDX-License-Identifier: Apache-2.0

// Numbers modulo both primes.

#include "Field.h"

#include <cmath>

using namespace mlir::weft;

/// mantissa * 2^exponent.
static uint64_t makePart(double number, uint64_t modulus) {
  int exponent = 0;
  double fraction = std::frexp(std::fabs(number), &exponent);
  auto mantissa = uint64_t(std::ldexp(fraction, 53));
  exponent -= 53;
  uint64_t power = powMod(2, uint64_t(std::abs(exponent)), modulus);
  if (exponent < 0)
    power = invertMod(power, modulus);
  uint64_t part = mulMod(mantissa % modulus, power, modulus);
  return number < 0 && part ? modulus - part : part;
}

Number mlir::weft::makeNumber(double number) {
  return {makePart(number, kOutside), makePart(number, kInside)};
}

Number mlir::weft::operator+(const Number &a, const Number &b) {
  if (a.isLowest || b.isLowest)
    return {0, 0, true, true, a.low + b.low};
  return {addMod(a.outside, b.outside, kOutside),
          addMod(a.inside, b.inside, kInside), a.hasInside && b.hasInside};
}

std::optional<Number> mlir::weft::multiply(const Number &a, const Number &b) {
  if (a.isLowest || b.isLowest)
    return std::nullopt;
  return Number{mulMod(a.outside, b.outside, kOutside),
                mulMod(a.inside, b.inside, kInside),
                a.hasInside && b.hasInside};
}

std::optional<Number> mlir::weft::invert(const Number &a) {
  if (a.isLowest || a.outside == 0 || (a.hasInside && a.inside == 0))
    return std::nullopt;
  return Number{invertMod(a.outside, kOutside), invertMod(a.inside, kInside),
                a.hasInside};
}

/// The finalizer of splitmix64.
static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

Mixer &Mixer::add(uint64_t word) {
  state = mix(state * 0x9e3779b97f4a7c15 + word + 0x632be59bd9b4e019);
  return *this;
}

Mixer &Mixer::add(const Number &number) {
  return add(number.outside)
      .add(number.hasInside ? number.inside : ~uint64_t(0))
      .add(uint64_t(number.isLowest));
}

Mixer &Mixer::add(llvm::StringRef text) {
  add(text.size());
  for (char letter : text)
    add(uint64_t(uint8_t(letter)));
  return *this;
}

Number Mixer::getNumber() const {
  Mixer other(state);
  uint64_t inside = other.add(uint64_t(1)).getWord() % kInside;
  uint64_t outside = other.add(uint64_t(2)).getWord() % kOutside;
  return {outside, inside};
}
