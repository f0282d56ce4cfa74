// SPDX-License-Identifier: Apache-2.0

// exp and tanh of the row kernels: how far off they are, and that each
// instruction set gives the same bits.

#include "gemm_test_fixture.h"
#include "rows.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace weft::rt;
using namespace weft::rt::detail;
using namespace weft::rt::test;

namespace {

constexpr size_t kCount = 1024;
struct alignas(64) Row {
  float at[kCount];
};

/// exp of each element: P of a row whose lse is 0.
Row exponentials(const Row &x) {
  Row scores = x, products{};
  GradientArgs args{};
  args.scores = scores.at;
  args.products = products.at;
  args.range = {0, kCount, 0, kCount};
  args.scale = args.weight = 1;
  activeRows().gradient(args);
  return scores;
}

Row tangents(const Row &x) {
  Row scores = x;
  ScoreArgs args{};
  args.scores = scores.at;
  args.last = kCount;
  args.scale = args.softcap = 1;
  activeRows().score(args);
  return scores;
}

double ulpsOff(float got, double want) {
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(double(got) - want) / std::ldexp(1.0, exponent - 24);
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// Calls body with rows of numbers over all of f32, the ends included.
template <class Body> void forRows(uint32_t step, Body body) {
  Row row;
  size_t i = 0;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step) {
    uint32_t low = uint32_t(bits);
    std::memcpy(&row.at[i++], &low, sizeof low);
    if (i == kCount) {
      body(row);
      i = 0;
    }
  }
}

class AttentionRows : public IsaTest {
protected:
  uint32_t step() const { return GetParam() == Isa::Scalar ? 300007 : 20011; }
};

TEST_P(AttentionRows, ExponentialIsTwoUlpOffAtMost) {
  forRows(step(), [](const Row &x) {
    Row y = exponentials(x);
    for (size_t i = 0; i < kCount; ++i) {
      const double want = std::exp(double(x.at[i]));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(y.at[i]));
      } else if (want < double(std::numeric_limits<float>::min())) {
        ASSERT_EQ(y.at[i], 0) << x.at[i];
      } else if (want > double(std::numeric_limits<float>::max())) {
        ASSERT_TRUE(std::isinf(y.at[i])) << x.at[i];
      } else {
        ASSERT_LE(ulpsOff(y.at[i], want), 1.5) << x.at[i];
      }
    }
  });
}

TEST_P(AttentionRows, TangentIsTwoUlpOffAtMost) {
  forRows(step(), [](const Row &x) {
    Row y = tangents(x);
    for (size_t i = 0; i < kCount; ++i) {
      const double want = std::tanh(double(x.at[i]));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(y.at[i]));
      } else if (std::fabs(want) > double(std::numeric_limits<float>::min())) {
        ASSERT_LE(ulpsOff(y.at[i], want), 2) << x.at[i];
      }
    }
  });
}

TEST_P(AttentionRows, HasTheBitsOfScalarCode) {
  forRows(1000003, [&](const Row &x) {
    forceIsa(Isa::Scalar);
    Row y = exponentials(x), t = tangents(x);
    forceIsa(GetParam());
    Row y2 = exponentials(x), t2 = tangents(x);
    for (size_t i = 0; i < kCount; ++i)
      if (!std::isnan(x.at[i])) {
        ASSERT_EQ(bitsOf(y.at[i]), bitsOf(y2.at[i])) << x.at[i];
        ASSERT_EQ(bitsOf(t.at[i]), bitsOf(t2.at[i])) << x.at[i];
      }
  });
}

TEST_P(AttentionRows, ExponentialOfZeroIsOne) {
  Row zeros{};
  EXPECT_EQ(exponentials(zeros).at[3], 1);
}

INSTANTIATE_TEST_SUITE_P(AllIsas, AttentionRows, testing::ValuesIn(allIsas),
                         nameOfIsa);

} // namespace
