// SPDX-License-Identifier: Apache-2.0

// What every backend owes to contractions whose order is open: any number of
// dims of each role, in any order in each tensor, and all combinations of
// types, against a plain loop. Values are small whole numbers, so that sums are
// exact in any order.

#include "core/types.h"
#include "job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace weft::rt;
using namespace weft::rt::cts;
using testing::AnyOf;
using testing::Each;

namespace {

struct Types {
  weft_rt_type a, b, c;
};

const Types allTypes[] = {{WEFT_RT_F32, WEFT_RT_F32, WEFT_RT_F32},
                          {WEFT_RT_BF16, WEFT_RT_BF16, WEFT_RT_F32},
                          {WEFT_RT_BF16, WEFT_RT_BF16, WEFT_RT_BF16},
                          {WEFT_RT_F16, WEFT_RT_F16, WEFT_RT_F16},
                          {WEFT_RT_F16, WEFT_RT_F16, WEFT_RT_F32},
                          {WEFT_RT_F64, WEFT_RT_F64, WEFT_RT_F64},
                          {WEFT_RT_F32, WEFT_RT_BF16, WEFT_RT_F32},
                          {WEFT_RT_F16, WEFT_RT_F32, WEFT_RT_F32},
                          {WEFT_RT_F32, WEFT_RT_F32, WEFT_RT_BF16}};

/// A contraction and its tensors, drawn from a seed.
struct Drawn {
  weft_rt_gemm gemm = {};
  int64_t sizeA = 1, sizeB = 1, sizeC = 1; // elements

  explicit Drawn(std::mt19937 &random);

  /// C has no elements.
  bool isEmpty() const {
    return std::any_of(gemm.dims, gemm.dims + gemm.num_dims,
                       [](const weft_rt_gemm_dim &dim) {
                         return dim.size == 0 && dim.role != WEFT_RT_GEMM_K;
                       });
  }

private:
  int64_t layOut(std::mt19937 &random, int32_t absentRole,
                 int64_t weft_rt_gemm_dim::*stride);
};

/// Gives the dims that a tensor has dense strides, in an order of its own.
int64_t Drawn::layOut(std::mt19937 &random, int32_t absentRole,
                      int64_t weft_rt_gemm_dim::*stride) {
  std::vector<weft_rt_gemm_dim *> order;
  for (int32_t i = 0; i < gemm.num_dims; ++i)
    if (gemm.dims[i].role != absentRole)
      order.push_back(&gemm.dims[i]);
  if (random() % 2)
    std::shuffle(order.begin(), order.end(), random);
  int64_t size = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    (*it)->*stride = size;
    size *= std::max<int64_t>((*it)->size, 1);
  }
  return size;
}

Drawn::Drawn(std::mt19937 &random) {
  const Types &types = allTypes[random() % std::size(allTypes)];
  gemm.type_a = types.a;
  gemm.type_b = types.b;
  gemm.type_c = types.c;
  gemm.accumulate = int32_t(random() % 2);
  const int64_t sizes[] = {1, 2, 3, 4, 5, 8};
  auto add = [&](int32_t role, uint32_t most) {
    for (uint32_t i = random() % (most + 1); i > 0; --i)
      gemm.dims[gemm.num_dims++] = {role, sizes[random() % std::size(sizes)], 0,
                                    0, 0};
  };
  add(WEFT_RT_GEMM_BATCH, 2);
  add(WEFT_RT_GEMM_M, 2);
  add(WEFT_RT_GEMM_N, 2);
  add(WEFT_RT_GEMM_K, 2);
  if (gemm.num_dims > 0 && random() % 20 == 0)
    gemm.dims[random() % gemm.num_dims].size = 0;
  sizeA = layOut(random, WEFT_RT_GEMM_N, &weft_rt_gemm_dim::stride_a);
  sizeB = layOut(random, WEFT_RT_GEMM_M, &weft_rt_gemm_dim::stride_b);
  sizeC = layOut(random, WEFT_RT_GEMM_K, &weft_rt_gemm_dim::stride_c);
}

Bytes smallNumbers(weft_rt_type type, int64_t count, std::mt19937 &random) {
  Bytes bytes(static_cast<size_t>(byteSize(type, count)));
  for (int64_t i = 0; i < count; ++i)
    setElement(type, bytes, i, encode(type, double(random() % 3) - 1));
  return bytes;
}

double valueAt(weft_rt_type type, const Bytes &data, int64_t at) {
  return decode(type, getElement(type, data, at));
}

/// Adds products over the dims from `dim` on to a copy of C as numbers.
void addProducts(const weft_rt_gemm &gemm, int32_t dim, int64_t atA,
                 int64_t atB, int64_t atC, const Bytes &a, const Bytes &b,
                 std::vector<double> &c) {
  if (dim == gemm.num_dims) {
    c[size_t(atC)] +=
        valueAt(gemm.type_a, a, atA) * valueAt(gemm.type_b, b, atB);
    return;
  }
  const weft_rt_gemm_dim &one = gemm.dims[dim];
  for (int64_t i = 0; i < one.size; ++i)
    addProducts(gemm, dim + 1, atA + i * one.stride_a, atB + i * one.stride_b,
                atC + i * one.stride_c, a, b, c);
}

std::string describe(const weft_rt_gemm &gemm) {
  std::string text =
      format("%s x %s -> %s%s", typeName(gemm.type_a), typeName(gemm.type_b),
             typeName(gemm.type_c), gemm.accumulate ? ", adding" : "");
  for (int32_t i = 0; i < gemm.num_dims; ++i)
    text += format(
        "; role %d of %lld: %lld, %lld, %lld", gemm.dims[i].role,
        (long long)gemm.dims[i].size, (long long)gemm.dims[i].stride_a,
        (long long)gemm.dims[i].stride_b, (long long)gemm.dims[i].stride_c);
  return text;
}

class Gemm : public testing::TestWithParam<BackendUnderTest> {
protected:
  static constexpr int64_t memoryBytes = 4 << 20;

  /// Runs a drawn contraction on rank 1, and compares.
  void check(Job &job, const Drawn &drawn, std::mt19937 &random) {
    const weft_rt_gemm &gemm = drawn.gemm;
    Bytes a = smallNumbers(gemm.type_a, drawn.sizeA, random),
          b = smallNumbers(gemm.type_b, drawn.sizeB, random),
          c = smallNumbers(gemm.type_c, drawn.sizeC, random);
    job.clear();
    int64_t atA = job.place(int64_t(a.size())),
            atB = job.place(int64_t(b.size())),
            atC = job.place(int64_t(c.size()));
    job.write(1, atA, a);
    job.write(1, atB, b);
    job.write(1, atC, c);
    Status status = job.run([&](Rank rank) {
      if (rank.id() == 1)
        rank.api->gemm(rank.self, -1, &gemm, rank.at(atA), rank.at(atB),
                       rank.at(atC));
    });
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<double> expected(size_t(drawn.sizeC), 0);
    bool keeps = gemm.accumulate || drawn.isEmpty();
    for (int64_t i = 0; keeps && i < drawn.sizeC; ++i)
      expected[size_t(i)] = valueAt(gemm.type_c, c, i);
    addProducts(gemm, 0, 0, 0, 0, a, b, expected);
    Bytes found = job.read(1, atC, int64_t(c.size()));
    for (int64_t i = 0; i < drawn.sizeC; ++i)
      ASSERT_EQ(valueAt(gemm.type_c, found, i), expected[size_t(i)])
          << "element " << i << " of " << describe(gemm);
  }
};

TEST_P(Gemm, AnyDimsStridesAndTypes) {
  std::mt19937 random(1);
  // Backends may know descriptors by their addresses: they stay.
  std::vector<std::unique_ptr<Drawn>> all;
  Job job(GetParam(), {{"a", 2}}, {}, {}, {}, memoryBytes);
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
    all.push_back(std::make_unique<Drawn>(random));
    check(job, *all.back(), random);
  }
}

/// A backend may take TF32 where it is let, and only there.
TEST_P(Gemm, RoundsToTF32WhereItIsLet) {
  constexpr int size = 64, depth = 8;
  std::vector<float> a(size * depth, 1 + 0x1p-12f), b(depth * size, 1);
  Job two(GetParam(), {{"a", 2}}, {}, {}, {}, memoryBytes);
  two.write(0, 0, a.data(), a.size() * sizeof(float));
  two.write(0, 4096, b.data(), b.size() * sizeof(float));
  weft_rt_gemm exact = {};
  exact.type_a = exact.type_b = exact.type_c = WEFT_RT_F32;
  exact.num_dims = 3;
  exact.dims[0] = {WEFT_RT_GEMM_M, size, depth, 0, size};
  exact.dims[1] = {WEFT_RT_GEMM_N, size, 0, 1, 1};
  exact.dims[2] = {WEFT_RT_GEMM_K, depth, 1, size, 0};
  weft_rt_gemm coarse = exact;
  coarse.tf32 = 1;
  Status status = two.run([&](Rank rank) {
    if (rank.id() == 1)
      return;
    rank.api->gemm(rank.self, -1, &exact, rank.at(0), rank.at(4096),
                   rank.at(8192));
    rank.api->gemm(rank.self, -1, &coarse, rank.at(0), rank.at(4096),
                   rank.at(32768));
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(two.values<float>(0, 8192, size * size),
              Each(depth * (1 + 0x1p-12f)));
  EXPECT_THAT(two.values<float>(0, 32768, size * size),
              Each(AnyOf(float(depth), depth * (1 + 0x1p-12f))));
}

TEST_P(Gemm, WhatMakesNoSense) {
  auto failureOf = [&](const weft_rt_gemm &gemm) {
    Job job(GetParam(), {{"a", 2}}, {});
    return job
        .run([&](Rank rank) {
          if (rank.id() == 1)
            rank.api->gemm(rank.self, -1, &gemm, rank.at(0), rank.at(64),
                           rank.at(128));
        })
        .message();
  };
  weft_rt_gemm gemm = {};
  gemm.type_a = gemm.type_b = gemm.type_c = WEFT_RT_F32;
  gemm.num_dims = 9;
  EXPECT_EQ(failureOf(gemm), "rank 1: gemm: number of dimensions out of range");
  gemm.num_dims = 1;
  gemm.dims[0] = {WEFT_RT_GEMM_M, 2, 1, 0, 0};
  EXPECT_EQ(failureOf(gemm),
            "rank 1: gemm: an element of C is addressed more than once");
  gemm.dims[0] = {WEFT_RT_GEMM_K, 2, 1, 1, 0};
  gemm.leaves = gemm.tf32 = 1;
  EXPECT_EQ(failureOf(gemm), "rank 1: gemm: TF32 with a declared order");
  gemm.leaves = gemm.tf32 = 0;
  gemm.dims[0] = {7, 2, 1, 0, 0};
  EXPECT_EQ(failureOf(gemm), "rank 1: gemm: unknown role of a dimension");
  gemm.type_b = WEFT_RT_F64;
  EXPECT_EQ(failureOf(gemm),
            "rank 1: gemm: combination of types not supported");
}

INSTANTIATE_TEST_SUITE_P(All, Gemm, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
