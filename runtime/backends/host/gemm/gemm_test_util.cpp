// SPDX-License-Identifier: Apache-2.0

// Problems with random shapes, strides and values, and comparisons between runs
// of gemm.

#include "gemm_test_util.h"

#include "gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

namespace weft::rt::test {

uint64_t Random::next() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1du >> 16;
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

/// One number of f32's range, with few bits in its mantissa: sums of few
/// products are exact more often than not, and differ in their last bits.
static double extreme(Random &random, int center) {
  constexpr int spread = 12;
  int exponent = center + int(random.below(spread)) - spread / 2;
  double mantissa = 1 + double(random.below(4)) / 4;
  double sign = random.below(2) ? -1 : 1;
  if (random.below(8) == 0)
    return sign * 0;
  return sign * std::ldexp(mantissa, exponent);
}

void Problem::makeExtreme(Random &random) {
  // Products around 2^-126, around 2^-150 beside it, subnormal operands, and
  // sums that overflow.
  constexpr int centers[] = {-63, -72, -126, 60};
  int center = centers[random.below(std::size(centers))];
  int other = center == -126 ? 0 : center;
  for (int64_t i = 0; i < int64_t(a.size()) / bytesOf(desc.type_a); ++i)
    writeAs(a.data(), desc.type_a, i, extreme(random, center));
  for (int64_t i = 0; i < int64_t(b.size()) / bytesOf(desc.type_b); ++i)
    writeAs(b.data(), desc.type_b, i, extreme(random, other));
}

void Problem::makeSparse(Random &random) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto mantissa = [&] {
    return (random.below(2) ? -1 : 1) * (1 + double(random.below(128)) / 128);
  };
  const bool huge = random.below(4) == 0;
  for (int64_t i = 0; i < int64_t(a.size()) / bytesOf(desc.type_a); ++i) {
    double value = std::ldexp(mantissa(), huge ? 126 : -126);
    if (random.below(4) != 0)
      value = 0;
    else if (random.below(40) == 0)
      value = random.below(2) ? std::copysign(inf, value) : std::nan("");
    writeAs(a.data(), desc.type_a, i, value);
  }
  for (int64_t i = 0; i < int64_t(b.size()) / bytesOf(desc.type_b); ++i)
    writeAs(b.data(), desc.type_b, i, mantissa());
}

void Problem::chooseOrder(Random &random, int64_t most) {
  int64_t k = 1;
  for (int i = 0; i < desc.num_dims; ++i)
    if (desc.dims[i].role == WEFT_RT_GEMM_K)
      k *= desc.dims[i].size;
  desc.leaves = int32_t(1 + random.below(most));
  while (k % desc.leaves != 0)
    --desc.leaves;
  desc.rounded = int32_t(random.below(2));
}

std::string Problem::text() const {
  std::ostringstream out;
  out << "types " << desc.type_a << ' ' << desc.type_b << ' ' << desc.type_c
      << " accumulate " << desc.accumulate << " leaves " << desc.leaves
      << " rounded " << desc.rounded;
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_gemm_dim &dim = desc.dims[i];
    out << " [" << "BMNK"[dim.role] << ' ' << dim.size << ": " << dim.stride_a
        << ' ' << dim.stride_b << ' ' << dim.stride_c << ']';
  }
  return out.str();
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
  if (const char *reason = gemmReason(problem.desc))
    return reason;
  return compare(problem.desc.type_c, run(problem),
                 evaluate(problem.desc, isa, problem.a.data(), problem.b.data(),
                          problem.c));
}

std::string compareRuns(const Problem &problem, const Problem &other) {
  return compare(problem.desc.type_c, run(problem), run(other));
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
  auto extent = [&](int i) {
    return inTensor(desc.dims[i].role, tensor) ? desc.dims[i].size : 1;
  };
  for (int64_t m = 0; m < extent(1); ++m)
    for (int64_t n = 0; n < extent(2); ++n)
      for (int64_t k = 0; k < extent(3); ++k) {
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

/// The tree of parts [begin, begin + count) of dense results.
static std::vector<char> joinParts(const weft_rt_gemm &desc,
                                   const std::vector<std::vector<char>> &parts,
                                   size_t begin, size_t count) {
  if (count == 1)
    return parts[begin];
  size_t half = 1;
  while (2 * half < count)
    half *= 2;
  std::vector<char> left = joinParts(desc, parts, begin, half);
  std::vector<char> right = joinParts(desc, parts, begin + half, count - half);
  int64_t elements = int64_t(left.size()) / bytesOf(desc.type_c);
  for (int64_t i = 0; i < elements; ++i)
    writeAs(left.data(), desc.type_c, i,
            join(desc, readAs(left.data(), desc.type_c, i),
                 readAs(right.data(), desc.type_c, i)));
  return left;
}

std::string compareSubtrees(const Problem &matrix, int parts) {
  Problem part = matrix;
  weft_rt_gemm_dim &k = part.desc.dims[3];
  k.size /= parts;
  part.desc.leaves /= parts;
  std::vector<std::vector<char>> results;
  for (int i = 0; i < parts; ++i) {
    std::vector<char> c = matrix.c;
    gemm(part.desc,
         matrix.a.data() + i * k.size * k.stride_a * bytesOf(part.desc.type_a),
         matrix.b.data() + i * k.size * k.stride_b * bytesOf(part.desc.type_b),
         c.data(), {});
    results.push_back(denseC(part.desc, c.data()));
  }
  return compare(matrix.desc.type_c,
                 joinParts(matrix.desc, results, 0, results.size()),
                 denseC(matrix.desc, run(matrix).data()));
}

} // namespace weft::rt::test
