// SPDX-License-Identifier: Apache-2.0

// The chains of products that runtime/backends/host/gemm/gemm.h declares, for
// the M x N sums that a thread has in registers.

#ifndef WEFT_RT_CUDA_CHAINS_H
#define WEFT_RT_CUDA_CHAINS_H

#include "core/float_formats.h"

namespace weft::rt::cuda {
namespace {

/// Elements of a chain: what comes after them is another one, that is added.
constexpr int64_t chainLength = 512;
/// Elements that are brought to shared memory at once, and a step of pairs.
constexpr int stepLength = 32;

/// Loops over what lies in registers have to be unrolled.
#if defined(__NVPTX__)
#define WEFT_UNROLL _Pragma("unroll")
#define WEFT_UNROLL_BY(count) WEFT_PRAGMA(unroll count)
#define WEFT_PRAGMA(text) _Pragma(#text)
#else
#define WEFT_UNROLL
#define WEFT_UNROLL_BY(count)
#endif

/// Calls body(i, j) for each of the sums that a thread has.
template <int M, int N, typename Body> void forSums(Body body) {
  WEFT_UNROLL
  for (int i = 0; i < M; ++i) {
    WEFT_UNROLL
    for (int j = 0; j < N; ++j)
      body(i, j);
  }
}

inline float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

constexpr float leastNormal = 0x1p-126f;

inline float flushed(float value) {
  return __builtin_fabsf(value) < leastNormal ? __builtin_copysignf(0, value)
                                              : value;
}

/// Not 0, and the least normal number or less.
inline bool isTiny(float value) {
  return (bitsAs<uint32_t>(value) << 1) - 1 < 0x01000000u;
}

/// Rounds as if exponents had no bound; what is then below the least normal
/// number becomes zero. Operands are no subnormal numbers.
inline float flushedFused(float a, float b, float c) {
  float sum = fused(a, b, c);
  if (!isTiny(sum))
    return sum;
  float &small = __builtin_fabsf(a) < __builtin_fabsf(b) ? a : b;
  small *= 0x1p120f;
  float scaled = fused(a, b, c * 0x1p120f);
  bool isBelow = __builtin_fabsf(scaled) < leastNormal * 0x1p120f;
  return isBelow ? __builtin_copysignf(0, sum) : sum;
}

/// Reads numbers that lie side by side, at a multiple of their size, at once.
template <typename T, int N> void loadVector(const T *from, T (&to)[N]) {
  using Vector __attribute__((vector_size(sizeof(to)))) = T;
  Vector vector = *reinterpret_cast<const Vector *>(from);
  WEFT_UNROLL
  for (int i = 0; i < N; ++i)
    to[i] = vector[i];
}

/// sums[i][j] = add(x[i], y[j], sums[i][j]), where a(k, x) and b(k, y) give the
/// operands of one k.
template <int M, int N, typename T, typename A, typename B, typename Add>
void addProducts(int k, A a, B b, T (&sums)[M][N], Add add) {
  T x[M], y[N];
  a(k, x);
  b(k, y);
  forSums<M, N>(
      [&](int i, int j) { sums[i][j] = add(x[i], y[j], sums[i][j]); });
}

/// One product after the other.
template <typename T, int M, int N> struct WideChains {
  using Value = T;
  static constexpr bool isPadded = false;
  static constexpr int rows = M, columns = N;
  /// What operands become before they are multiplied.
  static T operand(T value) { return value; }

  T sums[M][N];

  void clear() {
    forSums<M, N>([&](int i, int j) { sums[i][j] = 0; });
  }

  /// Adds the products of `count` k, at most a step.
  template <typename A, typename B> void add(int count, A a, B b) {
    WEFT_UNROLL_BY(4)
    for (int k = 0; k < count; ++k)
      addProducts(k, a, b, sums,
                  [](T x, T y, T sum) { return fused(x, y, sum); });
  }
};

/// Steps in which even and odd products are summed apart.
template <int M, int N> struct PairChains {
  using Value = float;
  /// Zeros make steps whole, which only a sum of -0 sees.
  static constexpr bool isPadded = true;
  static constexpr int rows = M, columns = N;
  static float operand(float value) { return flushed(value); }

  float sums[M][N];

  void clear() {
    forSums<M, N>([&](int i, int j) { sums[i][j] = 0; });
  }

  /// Adds one step.
  template <typename A, typename B> void add(int count, A a, B b) {
    float even[M][N], odd[M][N];
    // Sums that would have to be flushed are rare: then all are computed again.
    bool isRare = false;
    auto clear = [&](int i, int j) { even[i][j] = odd[i][j] = 0; };
    auto quick = [&](float x, float y, float sum) {
      float next = fused(x, y, sum);
      isRare |= isTiny(next);
      return next;
    };
    forSums<M, N>(clear);
    WEFT_UNROLL_BY(2)
    for (int k = 0; k < count; k += 2)
      addPair(k, count, a, b, even, odd, quick);
    if (isRare) {
      forSums<M, N>(clear);
      WEFT_UNROLL_BY(1)
      for (int k = 0; k < count; k += 2)
        addPair(k, count, a, b, even, odd, flushedFused);
    }
    forSums<M, N>([&](int i, int j) {
      sums[i][j] = flushed(sums[i][j] + flushed(even[i][j] + odd[i][j]));
    });
  }

private:
  template <typename A, typename B, typename Add>
  static void addPair(int k, int count, A a, B b, float (&even)[M][N],
                      float (&odd)[M][N], Add add) {
    addProducts(k, a, b, even, add);
    if (k + 1 < count)
      addProducts(k + 1, a, b, odd, add);
  }
};

/// Subtrees of a tree of leaves that wait for their sibling, by their height:
/// which are there are the binary digits of the number of leaves so far.
template <typename T, int Levels> struct WaitingSubtrees {
  T sums[Levels];

  /// Joins leaf `index` with what waits for it, by `add`; after the last one
  /// the value is the whole tree.
  template <typename Add>
  void join(T &value, int64_t index, bool isLast, Add add) {
    if constexpr (Levels <= 4) {
      // Of known places: these are registers.
      WEFT_UNROLL
      for (int level = 0; level < Levels; ++level)
        if (!joinAt(level, value, index, isLast, add))
          return;
    } else {
      WEFT_UNROLL_BY(1)
      for (int level = 0; level < Levels; ++level)
        if (!joinAt(level, value, index, isLast, add))
          return;
    }
  }

private:
  template <typename Add>
  bool joinAt(int level, T &value, int64_t index, bool isLast, Add add) {
    bool waits = index >> level & 1;
    if (waits)
      value = add(sums[level], value);
    else if (!isLast)
      sums[level] = value;
    return waits || isLast;
  }
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_CHAINS_H
