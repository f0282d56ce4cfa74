// SPDX-License-Identifier: Apache-2.0

// Random contractions, and comparisons of what gemm makes of them.

#ifndef WEFT_RT_GEMM_GEMM_TEST_UTIL_H
#define WEFT_RT_GEMM_GEMM_TEST_UTIL_H

#include "gemm_reference.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::rt::test {

/// The same numbers on every platform.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next();
  int64_t below(int64_t bound) { return int64_t(next() % uint64_t(bound)); }

private:
  uint64_t state;
};

struct Problem {
  weft_rt_gemm desc;
  std::vector<char> a, b, c; // c: the old value

  std::string text() const;
  /// Puts a NaN and infinities into A and B.
  void poison(Random &random);
  /// Fills A and B anew with numbers whose products and sums are around the
  /// least normal number, or of any size.
  void makeExtreme(Random &random);
  /// Fills A, mostly with zeros, and B, so that many sums of few elements have
  /// one product; such sums cancel to subnormal numbers, overflow, or are
  /// infinite or NaN where they meet.
  void makeSparse(Random &random);
  /// A random number of leaves, at most `most`, that divides K.
  void chooseOrder(Random &random, int64_t most);
};

/// Up to 8 dimensions of any role with any strides.
Problem randomProblem(Random &random, weft_rt_type a, weft_rt_type b,
                      weft_rt_type c);
/// M x K times K x N, dimensions in this order, with any strides.
Problem matrixProblem(Random &random, weft_rt_type a, weft_rt_type b,
                      weft_rt_type c, int64_t m, int64_t n, int64_t k);
Problem batchProblem(Random &random, weft_rt_type a, weft_rt_type b,
                     weft_rt_type c, int64_t batch, int64_t m, int64_t n,
                     int64_t k);

/// Each returns "" or what differs.
std::string compareWithOrder(const Problem &problem, Isa isa);
std::string comparePart(const Problem &matrix, Random &random);
std::string compareRuns(const Problem &problem, const Problem &other);
std::string compareThreads(const Problem &problem);
/// The parts of a matrix problem's K, each alone, joined in a tree.
std::string compareSubtrees(const Problem &matrix, int parts);

} // namespace weft::rt::test

#endif // WEFT_RT_GEMM_GEMM_TEST_UTIL_H
