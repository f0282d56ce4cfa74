// SPDX-License-Identifier: Apache-2.0

// Kernels without vectors: the order of summation spelled with fma, for any
// machine. A "vector" is one value.

#include "amx_chain.h"

#include <cmath>

namespace weft::rt::detail {
namespace {

template <class Value> struct Scalar {
  using Acc = Value;
  using V = Value;
  static constexpr int kWidth = 1, kRows = 4, kVecs = 2;
  static constexpr bool kKnowsSteps = false;

  static V zero() { return 0; }
  template <class In> static V load(const In *from) { return widen(*from); }
  template <class In> static V loadPartial(const In *, int) { return 0; }
  static V broadcast(const Acc *from) { return *from; }
  static V fma(V a, V b, V c) { return std::fma(a, b, c); }
  static V add(V a, V b) { return a + b; }
  static void store(Acc *to, V value) { *to = value; }
  static void storePartial(Acc *, V, int) {}
  static void transpose(V (&)[1]) {}
};

/// Takes subnormal numbers for zero without help from the machine.
struct ScalarAmxChain : Scalar<float> {
  static constexpr int kChainRows = 2;
  struct Mode {};

  static float zeroIfSubnormal(float value) {
    return std::fabs(value) < least ? std::copysign(0.0f, value) : value;
  }
  /// What lies below the least normal number by less than half of the distance
  /// between normal numbers there is rounded up to it and stays; std::fma
  /// rounds to the wider distance of subnormal numbers, so that its result may
  /// be the least one for less. The double sum is exact around that border.
  static float fma(float a, float b, float c) {
    constexpr double border = 0x1p-126 - 0x1p-151;
    a = zeroIfSubnormal(a);
    b = zeroIfSubnormal(b);
    float sum = std::fma(a, b, c);
    if (std::fabs(sum) <= least &&
        std::fabs(double(a) * double(b) + double(c)) < border)
      return std::copysign(0.0f, sum);
    return sum;
  }
  /// Sums of normal numbers are exact where they are subnormal.
  static float add(float a, float b) { return zeroIfSubnormal(a + b); }

private:
  static constexpr float least = 0x1p-126f;
};

} // namespace

const KernelSet kScalarAmxChain =
    makeAmxChainKernels<ScalarAmxChain, Scalar<float>>();
const KernelSet kScalarF32 = makeF32Kernels<Scalar<float>>();
const KernelSet kScalarF64 = makeF64Kernels<Scalar<double>>();

} // namespace weft::rt::detail
