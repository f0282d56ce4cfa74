// SPDX-License-Identifier: Apache-2.0

// Walks C with an odometer and sums each element as gemm.h says.

#include "gemm_reference.h"

#include "convert.h"

#include <algorithm>
#include <cmath>

namespace weft::rt::test {

using namespace detail;

int64_t bytesOf(weft_rt_type type) {
  return type == WEFT_RT_F64 ? 8 : type == WEFT_RT_F32 ? 4 : 2;
}

double readAs(const void *data, weft_rt_type type, int64_t index) {
  switch (type) {
  case WEFT_RT_F64:
    return static_cast<const double *>(data)[index];
  case WEFT_RT_F32:
    return double(static_cast<const float *>(data)[index]);
  case WEFT_RT_BF16:
    return double(widen(static_cast<const Bf16 *>(data)[index]));
  default:
    return double(widen(static_cast<const F16 *>(data)[index]));
  }
}

void writeAs(void *data, weft_rt_type type, int64_t index, double value) {
  switch (type) {
  case WEFT_RT_F64:
    static_cast<double *>(data)[index] = value;
    break;
  case WEFT_RT_F32:
    static_cast<float *>(data)[index] = float(value);
    break;
  case WEFT_RT_BF16:
    narrow(float(value), static_cast<Bf16 *>(data)[index]);
    break;
  default:
    narrow(float(value), static_cast<F16 *>(data)[index]);
    break;
  }
}

namespace {

using Values = std::vector<double>;

template <class Acc>
Acc chain(const Values &a, const Values &b, size_t begin, size_t end) {
  Acc sum = 0;
  for (size_t k = begin; k < end; ++k)
    sum = std::fma(Acc(a[k]), Acc(b[k]), sum);
  return sum;
}

float at(const Values &values, size_t index, size_t end) {
  return index < end ? float(values[index]) : 0.0f;
}

constexpr float leastNormal = 0x1p-126f;

float flushed(float value) {
  return std::fabs(value) < leastNormal ? std::copysign(0.0f, value) : value;
}

/// Rounds as if exponents had no bound; then what is below the least normal
/// number becomes zero.
float flushedFma(float a, float b, float c) {
  a = flushed(a);
  b = flushed(b);
  float sum = std::fma(a, b, c);
  if (!(std::fabs(sum) <= leastNormal))
    return sum;
  (std::fabs(a) < std::fabs(b) ? a : b) *= 0x1p120f;
  bool below = std::fabs(std::fma(a, b, c * 0x1p120f)) < leastNormal * 0x1p120f;
  return below ? std::copysign(0.0f, sum) : sum;
}

/// vdpbf16ps adds the odd product, then the even one.
float pairChain(const Values &a, const Values &b, size_t begin, size_t end) {
  float sum = 0;
  for (size_t k = begin; k < end; k += 2) {
    sum = flushedFma(at(a, k + 1, end), at(b, k + 1, end), sum);
    sum = flushedFma(at(a, k, end), at(b, k, end), sum);
  }
  return sum;
}

/// tdpbf16ps sums 16 even and 16 odd products apart, then adds both sums.
float tileChain(const Values &a, const Values &b, size_t begin, size_t end) {
  float sum = 0;
  for (size_t k = begin; k < end; k += 32) {
    float even = 0, odd = 0;
    for (size_t i = k; i < k + 32; i += 2) {
      even = flushedFma(at(a, i, end), at(b, i, end), even);
      odd = flushedFma(at(a, i + 1, end), at(b, i + 1, end), odd);
    }
    sum = flushed(sum + flushed(even + odd));
  }
  return sum;
}

double add(const weft_rt_gemm &desc, double a, double b) {
  return desc.type_c == WEFT_RT_F64 ? a + b : double(float(a) + float(b));
}

double roundNode(const weft_rt_gemm &desc, double value) {
  if (!desc.rounded)
    return value;
  double rounded;
  writeAs(&rounded, desc.type_c, 0, value);
  return readAs(&rounded, desc.type_c, 0);
}

double block(const weft_rt_gemm &desc, Isa isa, const Values &a,
             const Values &b, size_t begin, size_t end) {
  bool pairs = desc.type_a == WEFT_RT_BF16 && desc.type_b == WEFT_RT_BF16;
  if (desc.type_c == WEFT_RT_F64)
    return chain<double>(a, b, begin, end);
  if (pairs && (isa == Isa::AmxBf16 || desc.leaves > 0))
    return tileChain(a, b, begin, end);
  if (pairs && isa == Isa::Avx512Bf16)
    return pairChain(a, b, begin, end);
  return chain<float>(a, b, begin, end);
}

double leaf(const weft_rt_gemm &desc, Isa isa, const Values &a, const Values &b,
            size_t begin, size_t end) {
  double sum = 0;
  for (size_t k = begin; k < end; k += kGemmKBlock) {
    double part =
        block(desc, isa, a, b, k, std::min(end, k + size_t(kGemmKBlock)));
    sum = k == begin ? part : add(desc, sum, part);
  }
  return sum;
}

/// `leaves` leaves, the first of which begins at element `begin`.
double tree(const weft_rt_gemm &desc, Isa isa, const Values &a, const Values &b,
            size_t begin, size_t leafSize, size_t leaves) {
  if (leaves == 1)
    return roundNode(desc, leaf(desc, isa, a, b, begin, begin + leafSize));
  size_t half = 1;
  while (2 * half < leaves)
    half *= 2;
  double left = tree(desc, isa, a, b, begin, leafSize, half);
  double right =
      tree(desc, isa, a, b, begin + half * leafSize, leafSize, leaves - half);
  return join(desc, left, right);
}

} // namespace

double join(const weft_rt_gemm &desc, double a, double b) {
  return roundNode(desc, add(desc, a, b));
}

std::vector<char> evaluate(const weft_rt_gemm &desc, Isa isa, const char *a,
                           const char *b, std::vector<char> c) {
  std::vector<int64_t> kA, kB;
  walk(desc, true, [&](int64_t a, int64_t b, int64_t) {
    kA.push_back(a);
    kB.push_back(b);
  });
  size_t leaves = size_t(std::max(1, desc.leaves));
  Values rowA(kA.size()), columnB(kA.size());
  walk(desc, false, [&](int64_t offsetA, int64_t offsetB, int64_t offsetC) {
    for (size_t k = 0; k < kA.size(); ++k) {
      rowA[k] = readAs(a, desc.type_a, offsetA + kA[k]);
      columnB[k] = readAs(b, desc.type_b, offsetB + kB[k]);
    }
    double sum = tree(desc, isa, rowA, columnB, 0, kA.size() / leaves, leaves);
    if (desc.accumulate)
      sum = add(desc, readAs(c.data(), desc.type_c, offsetC), sum);
    writeAs(c.data(), desc.type_c, offsetC, sum);
  });
  return c;
}

} // namespace weft::rt::test
