// SPDX-License-Identifier: Apache-2.0

// Sets of bytes against their enumeration: the answers may be too careful, but
// never wrong, and exact for parts of one tensor.

#include "../../lib/Verify/Plan/ByteSet.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace mlir::weft::proof;

namespace {

std::set<int64_t> enumerate(const ByteSet &set) {
  std::set<int64_t> bytes;
  std::vector<int64_t> begins = {set.begin};
  for (const ByteSet::Dim &dim : set.dims) {
    std::vector<int64_t> next;
    for (int64_t begin : begins)
      for (int64_t i = 0; i < dim.size; ++i)
        next.push_back(begin + i * dim.stride);
    begins = next;
  }
  for (int64_t begin : begins)
    for (int64_t i = 0; i < set.run; ++i)
      bytes.insert(begin + i);
  return bytes;
}

/// A random box of a dense 4x6x5 tensor that begins at `origin`.
ByteSet makeBox(std::mt19937 &random, int64_t origin) {
  int64_t shape[] = {4, 6, 5}, strides[] = {30, 5, 1};
  int64_t begin = 0;
  llvm::SmallVector<int64_t> sizes;
  for (int i = 0; i < 3; ++i) {
    int64_t first = random() % shape[i];
    sizes.push_back(1 + random() % (shape[i] - first));
    begin += first * strides[i];
  }
  return ByteSet::get(origin + begin * 4, sizes, strides, 4);
}

bool shareBytes(const std::set<int64_t> &a, const std::set<int64_t> &b) {
  for (int64_t byte : a)
    if (b.count(byte))
      return true;
  return false;
}

bool includesBytes(const std::set<int64_t> &a, const std::set<int64_t> &b) {
  for (int64_t byte : b)
    if (!a.count(byte))
      return false;
  return true;
}

TEST(ByteSet, BoxesOfOneTensor) {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    int64_t origin = 64 * (random() % 5);
    ByteSet a = makeBox(random, origin), b = makeBox(random, origin);
    auto bytesA = enumerate(a), bytesB = enumerate(b);
    EXPECT_EQ(a.bytes(), static_cast<int64_t>(bytesA.size()));
    EXPECT_EQ(a.end(), *bytesA.rbegin() + 1);
    // Never wrong.
    EXPECT_TRUE(overlaps(a, b) || !shareBytes(bytesA, bytesB));
    EXPECT_TRUE(!contains(a, b) || includesBytes(bytesA, bytesB));
  }
}

TEST(ByteSet, ColumnsAreExact) {
  // Columns of a 512x64 matrix of f32, at any place of the arena.
  for (int64_t origin = 0; origin < 512; origin += 64)
    for (int64_t first = 0; first < 64; first += 8)
      for (int64_t second = 0; second < 64; second += 8) {
        ByteSet a = ByteSet::get(origin + 4 * first, {512, 8}, {64, 1}, 4);
        ByteSet b = ByteSet::get(origin + 4 * second, {512, 8}, {64, 1}, 4);
        EXPECT_EQ(overlaps(a, b), first == second);
        EXPECT_EQ(contains(a, b), first == second);
      }
}

TEST(ByteSet, DenseIsOneRun) {
  ByteSet set = ByteSet::get(128, {2, 3, 1, 4}, {12, 4, 99, 1}, 2);
  EXPECT_TRUE(set.dims.empty());
  EXPECT_EQ(set.run, 48);
  EXPECT_TRUE(contains(set, ByteSet::get(130, {2, 2}, {4, 1}, 2)));
  EXPECT_FALSE(overlaps(set, ByteSet::get(176, {4}, {1}, 2)));
  EXPECT_FALSE(overlaps(set, ByteSet::get(128, {0, 4}, {4, 1}, 2)));
}

} // namespace
