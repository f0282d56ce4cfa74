// SPDX-License-Identifier: Apache-2.0

// What every backend owes to a rank's own calls: kernels with scalars, copies
// between any strides, and scalars that the CPU reads.

#include "job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace weft::rt;
using namespace weft::rt::cts;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

namespace {

/// buffers: values. scalars: a factor and a summand.
void scale(void *const *buffers, const int64_t *scalars, int64_t begin,
           int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int64_t *>(buffers[0])[i] =
        static_cast<int64_t *>(buffers[0])[i] * scalars[0] + scalars[1];
}

class Call : public testing::TestWithParam<BackendUnderTest> {
protected:
  Job job(const BackendOptions &options = {}) {
    return Job(GetParam(), {{"a", 2}}, {}, options,
               {{"scale", -1, scale, 1, 2}});
  }

  /// A copy of 4-byte elements on one rank; what the target holds then.
  std::vector<int32_t> copied(std::vector<weft_rt_copy_dim> dims,
                              size_t targetSize) {
    weft_rt_copy copy = {4, int32_t(dims.size()), {}};
    std::copy(dims.begin(), dims.end(), copy.dims);
    std::vector<int32_t> source(24), target(targetSize, -1);
    std::iota(source.begin(), source.end(), 0);
    Job two = job();
    int64_t from = two.place(96), to = two.place(int64_t(4 * targetSize));
    two.write(1, from, source.data(), 96);
    two.write(1, to, target.data(), int64_t(4 * targetSize));
    Status status = two.run([&](Rank rank) {
      if (rank.id() == 1)
        rank.api->copy(rank.self, -1, &copy, rank.at(from), rank.at(to));
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return two.values<int32_t>(1, to, targetSize);
  }

  template <typename T> int64_t read(weft_rt_type type, T value) {
    int64_t seen = -7;
    Job two = job();
    two.write(0, 64, &value, sizeof(value));
    Status status = two.run([&](Rank rank) {
      if (rank.id() == 0)
        seen = rank.api->read_scalar(rank.self, -1, type, rank.at(64));
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return seen;
  }

  std::string failure(const std::function<void(Rank)> &task) {
    return job().run(task).message();
  }
};

TEST_P(Call, KernelsGetTheirScalars) {
  for (int threads : {2, 6}) {
    BackendOptions options;
    options.threads = threads;
    Job two = job(options);
    const std::vector<int64_t> values(1000, 2);
    int64_t place = two.place(8000);
    for (int64_t rank : {0, 1})
      two.write(rank, place, values.data(), 8000);
    Status status = two.run([&](Rank rank) {
      void *buffers[] = {rank.at(place)};
      int64_t scalars[] = {10, rank.id()};
      rank.launch(0, 1000, buffers, scalars);
      scalars[0] = 0;
      rank.launch(0, 0, buffers, scalars);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    for (int64_t rank : {0, 1})
      EXPECT_THAT(two.values<int64_t>(rank, place, 1000), Each(20 + rank));
  }
}

TEST_P(Call, KernelsThatAreNotThere) {
  for (int32_t kernel : {-1, 1})
    EXPECT_THAT(
        failure([&](Rank rank) { rank.launch(kernel, 1, nullptr, nullptr); }),
        HasSubstr(format("launches kernel %d of 1", kernel)));
}

TEST_P(Call, CopiesAnyStrides) {
  EXPECT_THAT(copied({}, 1), ElementsAre(0));
  EXPECT_THAT(copied({{3, 1, 1}}, 4), ElementsAre(0, 1, 2, -1));
  EXPECT_THAT(copied({{2, 6, 3}, {3, 1, 1}}, 6), ElementsAre(0, 1, 2, 6, 7, 8));
  EXPECT_THAT(copied({{2, 1, 3}, {3, 2, 1}}, 6), // a transpose
              ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(copied({{3, 0, 2}}, 6), ElementsAre(0, -1, 0, -1, 0, -1));
  EXPECT_THAT(copied({{2, 12, 4}, {2, 2, 2}, {2, 1, 1}}, 8),
              ElementsAre(0, 1, 2, 3, 12, 13, 14, 15));
  EXPECT_THAT(copied({{0, 1, 1}, {2, 1, 1}}, 2), ElementsAre(-1, -1));
  EXPECT_THAT(copied({{2, 1, 1}, {1, 99, 99}}, 2), ElementsAre(0, 1));
}

TEST_P(Call, CopiesThatMakeNoSense) {
  auto failureOf = [&](weft_rt_copy copy) {
    return failure([&](Rank rank) {
      rank.api->copy(rank.self, -1, &copy, rank.at(0), rank.at(64));
    });
  };
  EXPECT_THAT(failureOf({0, 0, {}}), HasSubstr("copy: elements of no size"));
  EXPECT_THAT(failureOf({4, 9, {}}), HasSubstr("copy: too many dimensions"));
  EXPECT_THAT(failureOf({4, 1, {{1, -1, 1}}}),
              HasSubstr("copy: a negative size or stride"));
}

/// Attention of 2 queries to 2 keys, heads of 1 element.
weft_rt_attention smallAttention() {
  weft_rt_attention attention = {};
  attention.type = attention.type_bias = WEFT_RT_F32;
  attention.type_dq = attention.type_dk = attention.type_dv = WEFT_RT_F32;
  attention.scale = 1;
  attention.left = -1;
  attention.num_dims = 4; // causal: right is 0
  weft_rt_attention_dim *dims = attention.dims;
  dims[0] = {
      WEFT_RT_ATTENTION_QUERY, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0};
  dims[1] = {
      WEFT_RT_ATTENTION_KEY, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  dims[2] = {
      WEFT_RT_ATTENTION_DEPTH, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
  dims[3] = {
      WEFT_RT_ATTENTION_VALUE, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1};
  return attention;
}

TEST_P(Call, ComputesAttentionAndItsGradient) {
  // Two elements each, by weft_rt_attention_buffer, 64 bytes apart.
  const float inputs[WEFT_RT_ATTENTION_NUM_BUFFERS][2] = {
      {1, 0}, {2, 5}, {3, 7}, {}, {}, {}, {}, {}, {}, {}, {}, {2, 4}};
  Job two = job();
  for (int i = 0; i < WEFT_RT_ATTENTION_NUM_BUFFERS; ++i)
    two.write(0, 64 * i, inputs[i], sizeof(inputs[i]));
  weft_rt_attention forward = smallAttention(), backward = forward;
  backward.backward = 1;
  Status status = two.run([&](Rank rank) {
    if (rank.id() == 1)
      return;
    void *buffers[WEFT_RT_ATTENTION_NUM_BUFFERS];
    for (int i = 0; i < WEFT_RT_ATTENTION_NUM_BUFFERS; ++i)
      buffers[i] = i >= WEFT_RT_ATTENTION_BIAS && i < WEFT_RT_ATTENTION_OUT
                       ? nullptr
                       : rank.at(64 * i);
    rank.api->attention(rank.self, -1, &forward, buffers, 0);
    rank.api->attention(rank.self, -1, &backward, buffers, 0);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  auto values = [&](weft_rt_attention_buffer buffer) {
    return two.values<float>(0, 64 * buffer, 2);
  };
  // The first query sees one key; the second one two with equal scores of 0.
  EXPECT_THAT(values(WEFT_RT_ATTENTION_OUT), ElementsAre(3, 5));
  EXPECT_THAT(values(WEFT_RT_ATTENTION_LSE),
              ElementsAre(2, FloatEq(0.6931472f)));
  // dS of the second query: 1/2 * 4 * (3 - 5) and 1/2 * 4 * (7 - 5).
  EXPECT_THAT(values(WEFT_RT_ATTENTION_DQ), ElementsAre(0, -4 * 2 + 4 * 5));
  EXPECT_THAT(values(WEFT_RT_ATTENTION_DK), ElementsAre(0, 0));
  EXPECT_THAT(values(WEFT_RT_ATTENTION_DV), ElementsAre(2 + 2, 2));
}

/// With seeds of 0, bits of the two keys are those of threefry2x32 for the
/// counters 0 and 1: 6b200159 and 508efb2c.
TEST_P(Call, DropsKeysOfAttention) {
  const float inputs[3][2] = {{0, 0}, {2, 5}, {3, 7}};
  Job two = job();
  for (int i = 0; i < 3; ++i)
    two.write(0, 64 * i, inputs[i], sizeof(inputs[i]));
  const int32_t seeds[2] = {};
  for (int tensor : {WEFT_RT_ATTENTION_LOW_SEEDS, WEFT_RT_ATTENTION_HIGH_SEEDS})
    two.write(0, 64 * tensor, seeds, sizeof(seeds));
  weft_rt_attention attention = smallAttention();
  attention.dropout = 0.375f; // of 2^32 0x60000000
  attention.dims[0].stride_low_seeds = attention.dims[0].stride_high_seeds = 1;
  Status status = two.run([&](Rank rank) {
    if (rank.id() == 1)
      return;
    void *buffers[WEFT_RT_ATTENTION_NUM_BUFFERS] = {};
    for (int i : {WEFT_RT_ATTENTION_Q, WEFT_RT_ATTENTION_K, WEFT_RT_ATTENTION_V,
                  WEFT_RT_ATTENTION_LOW_SEEDS, WEFT_RT_ATTENTION_HIGH_SEEDS,
                  WEFT_RT_ATTENTION_OUT, WEFT_RT_ATTENTION_LSE})
      buffers[i] = rank.at(64 * i);
    rank.api->attention(rank.self, -1, &attention, buffers, 0);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(two.values<float>(0, 64 * WEFT_RT_ATTENTION_OUT, 2),
              ElementsAre(FloatEq(3 * 1.6f), FloatEq(3 * 1.6f / 2)));
  EXPECT_THAT(two.values<float>(0, 64 * WEFT_RT_ATTENTION_LSE, 2),
              ElementsAre(0, FloatEq(0.6931472f)));
}

TEST_P(Call, AttentionThatMakesNoSense) {
  static weft_rt_attention attention = smallAttention();
  static void *none[WEFT_RT_ATTENTION_NUM_BUFFERS] = {};
  auto run = [](Rank rank) {
    if (rank.id() == 1)
      rank.api->attention(rank.self, -1, &attention, none, 0);
  };
  EXPECT_EQ(failure(run), "rank 1: attention: no address of a tensor that must "
                          "be there");
  attention.dims[0].role = 9;
  EXPECT_EQ(failure(run), "rank 1: attention: unknown role of a dimension");
}

TEST_P(Call, ReadsScalarsOfEachWidth) {
  EXPECT_EQ(read(WEFT_RT_I1, uint8_t(1)), 1);
  EXPECT_EQ(read(WEFT_RT_I8, int8_t(-3)), -3);
  EXPECT_EQ(read(WEFT_RT_U8, uint8_t(253)), 253);
  EXPECT_EQ(read(WEFT_RT_I16, int16_t(-300)), -300);
  EXPECT_EQ(read(WEFT_RT_U16, uint16_t(65000)), 65000);
  EXPECT_EQ(read(WEFT_RT_I32, int32_t(-70000)), -70000);
  EXPECT_EQ(read(WEFT_RT_U32, uint32_t(4000000000)), 4000000000);
  EXPECT_EQ(read(WEFT_RT_I64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(read(WEFT_RT_BF16, uint16_t(0xbf80)), 0xbf80);
  EXPECT_EQ(read(WEFT_RT_F32, -1.0f), 0xbf800000);
  EXPECT_EQ(read(WEFT_RT_F64, 1.0), 0x3ff0000000000000);
}

TEST_P(Call, ReadsNoPartsOfBytes) {
  for (int type : {int(WEFT_RT_F4E2M1FN), int(WEFT_RT_NUM_TYPES), -1})
    EXPECT_THAT(failure([&](Rank rank) {
                  rank.api->read_scalar(rank.self, -1, weft_rt_type(type),
                                        rank.at(0));
                }),
                HasSubstr("reads a scalar of type"));
}

INSTANTIATE_TEST_SUITE_P(Backends, Call, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
