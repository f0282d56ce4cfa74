// SPDX-License-Identifier: Apache-2.0

// The reference walks C with an odometer and sums each element as gemm.h says,
// one scalar operation at a time.

#include "gemm_test_util.h"

#include "convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

namespace weft::rt::test {

using namespace detail;

uint64_t Random::next() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1du >> 16;
}

static int64_t bytesOf(weft_rt_type type) {
  return type == WEFT_RT_F64 ? 8 : type == WEFT_RT_F32 ? 4 : 2;
}

static double readAs(const void *data, weft_rt_type type, int64_t index) {
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

static void writeAs(void *data, weft_rt_type type, int64_t index,
                    double value) {
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

static void fill(Random &random, std::vector<char> &data, weft_rt_type type,
                 int64_t count) {
  data.resize(size_t(count * bytesOf(type)));
  for (int64_t i = 0; i < count; ++i)
    writeAs(data.data(), type, i,
            (double(random.below(1 << 20)) - (1 << 19)) * 0x1p-19);
}

static bool inTensor(int32_t role, int tensor) {
  constexpr int32_t absent[] = {WEFT_RT_GEMM_N, WEFT_RT_GEMM_M, WEFT_RT_GEMM_K};
  return role != absent[tensor];
}

static int64_t &strideOf(weft_rt_gemm_dim &dim, int tensor) {
  return tensor == 0 ? dim.stride_a : tensor == 1 ? dim.stride_b : dim.stride_c;
}

/// Gives one tensor a random memory order, padding and, if allowed, broadcasts;
/// returns its elements.
static int64_t layOut(Random &random, weft_rt_gemm &desc, int tensor,
                      bool mayBroadcast) {
  std::vector<int> order;
  for (int i = 0; i < desc.num_dims; ++i)
    if (inTensor(desc.dims[i].role, tensor))
      order.push_back(i);
  if (random.below(2))
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[size_t(random.below(int64_t(i)))]);
  bool padded = random.below(3) == 0;
  int64_t stride = padded ? 1 + random.below(2) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    weft_rt_gemm_dim &dim = desc.dims[order[i]];
    bool broadcast = mayBroadcast && tensor < 2 && random.below(12) == 0;
    strideOf(dim, tensor) = broadcast ? 0 : stride;
    if (!broadcast)
      stride = stride * std::max<int64_t>(1, dim.size) +
               (padded ? random.below(3) : 0);
  }
  return stride + 1;
}

static Problem finish(Random &random, weft_rt_gemm desc) {
  Problem problem;
  int64_t counts[3];
  for (int tensor = 0; tensor < 3; ++tensor)
    counts[tensor] = layOut(random, desc, tensor, true);
  desc.accumulate = int32_t(random.below(2));
  problem.desc = desc;
  fill(random, problem.a, desc.type_a, counts[0]);
  fill(random, problem.b, desc.type_b, counts[1]);
  fill(random, problem.c, desc.type_c, counts[2]);
  return problem;
}

static weft_rt_gemm emptyDesc(weft_rt_type a, weft_rt_type b, weft_rt_type c) {
  weft_rt_gemm desc{};
  desc.type_a = a;
  desc.type_b = b;
  desc.type_c = c;
  return desc;
}

static void addDim(weft_rt_gemm &desc, int32_t role, int64_t size) {
  desc.dims[desc.num_dims++] = {role, size, 0, 0, 0};
}

Problem randomProblem(Random &random, weft_rt_type a, weft_rt_type b,
                      weft_rt_type c) {
  weft_rt_gemm desc = emptyDesc(a, b, c);
  constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
  int64_t work = 1;
  for (int64_t n = random.below(WEFT_RT_GEMM_MAX_DIMS + 1); n > 0; --n) {
    int64_t size = sizes[random.below(std::size(sizes))];
    if (work * size > 40000)
      size = 1 + random.below(2);
    work *= size;
    addDim(desc, int32_t(random.below(4)), size);
  }
  return finish(random, desc);
}

Problem batchProblem(Random &random, weft_rt_type a, weft_rt_type b,
                     weft_rt_type c, int64_t batch, int64_t m, int64_t n,
                     int64_t k) {
  weft_rt_gemm desc = emptyDesc(a, b, c);
  addDim(desc, WEFT_RT_GEMM_BATCH, batch);
  addDim(desc, WEFT_RT_GEMM_M, m);
  addDim(desc, WEFT_RT_GEMM_N, n);
  addDim(desc, WEFT_RT_GEMM_K, k);
  return finish(random, desc);
}

Problem matrixProblem(Random &random, weft_rt_type a, weft_rt_type b,
                      weft_rt_type c, int64_t m, int64_t n, int64_t k) {
  return batchProblem(random, a, b, c, 1, m, n, k);
}

void Problem::poison(Random &random) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  int64_t countA = int64_t(a.size()) / bytesOf(desc.type_a);
  int64_t countB = int64_t(b.size()) / bytesOf(desc.type_b);
  writeAs(a.data(), desc.type_a, random.below(countA), std::nan(""));
  writeAs(a.data(), desc.type_a, random.below(countA), inf);
  writeAs(b.data(), desc.type_b, random.below(countB), -inf);
}

std::string Problem::text() const {
  std::ostringstream out;
  out << "types " << desc.type_a << ' ' << desc.type_b << ' ' << desc.type_c
      << " accumulate " << desc.accumulate;
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_gemm_dim &dim = desc.dims[i];
    out << " [" << "BMNK"[dim.role] << ' ' << dim.size << ": " << dim.stride_a
        << ' ' << dim.stride_b << ' ' << dim.stride_c << ']';
  }
  return out.str();
}

using Values = std::vector<double>;

template <class Acc>
static Acc chain(const Values &a, const Values &b, size_t begin, size_t end) {
  Acc sum = 0;
  for (size_t k = begin; k < end; ++k)
    sum = std::fma(Acc(a[k]), Acc(b[k]), sum);
  return sum;
}

static float at(const Values &values, size_t index, size_t end) {
  return index < end ? float(values[index]) : 0.0f;
}

/// vdpbf16ps adds the odd product, then the even one.
static float pairChain(const Values &a, const Values &b, size_t begin,
                       size_t end) {
  float sum = 0;
  for (size_t k = begin; k < end; k += 2) {
    sum = std::fma(at(a, k + 1, end), at(b, k + 1, end), sum);
    sum = std::fma(at(a, k, end), at(b, k, end), sum);
  }
  return sum;
}

/// tdpbf16ps sums 16 even and 16 odd products apart, then adds both sums.
static float tileChain(const Values &a, const Values &b, size_t begin,
                       size_t end) {
  float sum = 0;
  for (size_t k = begin; k < end; k += 32) {
    float even = 0, odd = 0;
    for (size_t i = k; i < k + 32; i += 2) {
      even = std::fma(at(a, i, end), at(b, i, end), even);
      odd = std::fma(at(a, i + 1, end), at(b, i + 1, end), odd);
    }
    sum += even + odd;
  }
  return sum;
}

static double sumInOrder(const weft_rt_gemm &desc, Isa isa, const Values &a,
                         const Values &b) {
  bool pairs = desc.type_a == WEFT_RT_BF16 && desc.type_b == WEFT_RT_BF16;
  double sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += kGemmKBlock) {
    size_t end = std::min(a.size(), begin + kGemmKBlock);
    double block;
    if (desc.type_c == WEFT_RT_F64)
      block = chain<double>(a, b, begin, end);
    else if (pairs && isa == Isa::Avx512Bf16)
      block = pairChain(a, b, begin, end);
    else if (pairs && isa == Isa::AmxBf16)
      block = tileChain(a, b, begin, end);
    else
      block = chain<float>(a, b, begin, end);
    if (begin == 0)
      sum = block;
    else
      sum = desc.type_c == WEFT_RT_F64 ? sum + block
                                       : double(float(sum) + float(block));
  }
  return sum;
}

/// Calls body(offsets in A, B, C) over the dimensions whose role is K, or is
/// not, in the descriptor's order.
template <class Body>
static void walk(const weft_rt_gemm &desc, bool overK, Body body) {
  std::vector<weft_rt_gemm_dim> dims;
  for (int i = 0; i < desc.num_dims; ++i)
    if ((desc.dims[i].role == WEFT_RT_GEMM_K) == overK)
      dims.push_back(desc.dims[i]);
  int64_t count = 1;
  for (const weft_rt_gemm_dim &dim : dims)
    count *= dim.size;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, a = 0, b = 0, c = 0;
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i].size) {
      int64_t index = rest % dims[i].size;
      a += index * dims[i].stride_a;
      b += index * dims[i].stride_b;
      c += index * dims[i].stride_c;
    }
    body(a, b, c);
  }
}

static std::vector<char> reference(const Problem &problem, Isa isa) {
  const weft_rt_gemm &desc = problem.desc;
  std::vector<char> c = problem.c;
  std::vector<int64_t> kA, kB;
  walk(desc, true, [&](int64_t a, int64_t b, int64_t) {
    kA.push_back(a);
    kB.push_back(b);
  });
  Values rowA(kA.size()), columnB(kA.size());
  walk(desc, false, [&](int64_t a, int64_t b, int64_t offsetC) {
    for (size_t k = 0; k < kA.size(); ++k) {
      rowA[k] = readAs(problem.a.data(), desc.type_a, a + kA[k]);
      columnB[k] = readAs(problem.b.data(), desc.type_b, b + kB[k]);
    }
    double sum = sumInOrder(desc, isa, rowA, columnB);
    if (desc.accumulate) {
      double old = readAs(c.data(), desc.type_c, offsetC);
      sum = desc.type_c == WEFT_RT_F64 ? old + sum
                                       : double(float(old) + float(sum));
    }
    writeAs(c.data(), desc.type_c, offsetC, sum);
  });
  return c;
}

/// Bits, except that all NaNs are alike.
static std::string compare(weft_rt_type type, const std::vector<char> &got,
                           const std::vector<char> &want) {
  int64_t bytes = bytesOf(type);
  for (size_t at = 0; at < want.size(); at += size_t(bytes)) {
    if (std::equal(&want[at], &want[at] + bytes, &got[at]))
      continue;
    double x = readAs(&got[at], type, 0), y = readAs(&want[at], type, 0);
    if (std::isnan(x) && std::isnan(y))
      continue;
    std::ostringstream out;
    out.precision(17);
    out << "element " << at / size_t(bytes) << " is " << x << ", not " << y;
    return out.str();
  }
  return "";
}

static std::vector<char> run(const Problem &problem,
                             const ParallelFor &parallelFor = {}) {
  std::vector<char> c = problem.c;
  gemm(problem.desc, problem.a.data(), problem.b.data(), c.data(), parallelFor);
  return c;
}

std::string compareWithOrder(const Problem &problem, Isa isa) {
  if (const char *reason = gemmUnsupportedReason(problem.desc))
    return reason;
  return compare(problem.desc.type_c, run(problem), reference(problem, isa));
}

/// Copies C's elements, as a dense row-major matrix, from a part of a matrix
/// problem.
static std::vector<char> denseC(const weft_rt_gemm &desc, const char *c) {
  std::vector<char> dense;
  int64_t bytes = bytesOf(desc.type_c);
  walk(desc, false, [&](int64_t, int64_t, int64_t offset) {
    dense.insert(dense.end(), c + offset * bytes, c + (offset + 1) * bytes);
  });
  return dense;
}

/// Copies a part of a tensor to a fresh layout.
static std::vector<char> repack(Random &random, weft_rt_gemm &desc, int tensor,
                                const char *from, weft_rt_type type) {
  weft_rt_gemm old = desc;
  int64_t count = layOut(random, desc, tensor, false);
  int64_t bytes = bytesOf(type);
  std::vector<char> data(size_t(count * bytes));
  for (int64_t m = 0; m < desc.dims[1].size; ++m)
    for (int64_t n = 0; n < desc.dims[2].size; ++n)
      for (int64_t k = 0; k < std::max<int64_t>(1, desc.dims[3].size); ++k) {
        int64_t index[] = {0, m, n, k}, source = 0, target = 0;
        for (int i = 1; i < 4; ++i) {
          source += index[i] * strideOf(old.dims[i], tensor);
          target += index[i] * strideOf(desc.dims[i], tensor);
        }
        std::copy_n(from + source * bytes, bytes,
                    &data[size_t(target * bytes)]);
      }
  return data;
}

std::string comparePart(const Problem &matrix, Random &random) {
  const weft_rt_gemm &whole = matrix.desc;
  int64_t m0 = random.below(whole.dims[1].size);
  int64_t n0 = random.below(whole.dims[2].size);
  Problem part;
  part.desc = whole;
  part.desc.dims[1].size = 1 + random.below(whole.dims[1].size - m0);
  part.desc.dims[2].size = 1 + random.below(whole.dims[2].size - n0);
  int64_t a0 = m0 * whole.dims[1].stride_a, b0 = n0 * whole.dims[2].stride_b;
  int64_t c0 = m0 * whole.dims[1].stride_c + n0 * whole.dims[2].stride_c;
  std::vector<char> all = run(matrix);
  std::vector<char> want =
      denseC(part.desc, all.data() + c0 * bytesOf(whole.type_c));
  part.a = repack(random, part.desc, 0,
                  matrix.a.data() + a0 * bytesOf(whole.type_a), whole.type_a);
  part.b = repack(random, part.desc, 1,
                  matrix.b.data() + b0 * bytesOf(whole.type_b), whole.type_b);
  part.c = repack(random, part.desc, 2,
                  matrix.c.data() + c0 * bytesOf(whole.type_c), whole.type_c);
  std::vector<char> got = run(part);
  return compare(whole.type_c, denseC(part.desc, got.data()), want);
}

/// Three threads, each every third piece.
static void runOnThreads(void *, int64_t n, void (*body)(void *, int64_t),
                         void *bodyCtx) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t)
    threads.emplace_back([=] {
      for (int64_t i = t; i < n; i += 3)
        body(bodyCtx, i);
    });
  for (std::thread &thread : threads)
    thread.join();
}

std::string compareThreads(const Problem &problem) {
  ParallelFor parallelFor{3, nullptr, runOnThreads};
  return compare(problem.desc.type_c, run(problem, parallelFor), run(problem));
}

} // namespace weft::rt::test
