// SPDX-License-Identifier: Apache-2.0

// Kernels without vectors: the order of summation spelled with fma, for any
// machine. A "vector" is one value.

#include "kernel_template.h"

#include <cmath>

namespace weft::rt::detail {
namespace {

template <class Value> struct Scalar {
  using Acc = Value;
  using V = Value;
  static constexpr int kWidth = 1, kRows = 4, kVecs = 2;

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

} // namespace

const KernelSet kScalarF32 = makeF32Kernels<Scalar<float>>();
const KernelSet kScalarF64 = makeF64Kernels<Scalar<double>>();

} // namespace weft::rt::detail
