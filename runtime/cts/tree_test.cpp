// SPDX-License-Identifier: Apache-2.0

// What trees are for: a reduction over a group gives the bits of reductions
// over parts of it and then over the parts, wherever the group is cut so that
// each part is a tree of its own. Written out for small groups, too.

#include "core/types.h"
#include "job.h"
#include "reference.h"

#include <gtest/gtest.h>

using namespace weft::rt;
using namespace weft::rt::cts;

namespace {

constexpr int64_t numElements = 1500; // elements: not whole blocks

/// Adds as abi.h says, for one element of up to 8 members.
float written(const std::vector<float> &x) {
  switch (x.size()) {
  case 1:
    return x[0];
  case 2:
    return x[0] + x[1];
  case 3:
    return (x[0] + x[1]) + x[2];
  case 4:
    return (x[0] + x[1]) + (x[2] + x[3]);
  case 5:
    return ((x[0] + x[1]) + (x[2] + x[3])) + x[4];
  case 6:
    return ((x[0] + x[1]) + (x[2] + x[3])) + (x[4] + x[5]);
  case 7:
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + x[6]);
  default:
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  }
}

class Trees : public testing::TestWithParam<BackendUnderTest> {
protected:
  std::vector<Bytes> inputsFor(weft_rt_type type, int64_t ranks) {
    std::vector<Bytes> inputs;
    for (int64_t rank = 0; rank < ranks; ++rank)
      inputs.push_back(randomNumbers(type, numElements, 1000 + rank));
    return inputs;
  }

  /// Reduces over channel 0, the result over channel 1, and so on, in place,
  /// and returns what each rank has then.
  std::vector<Bytes> reduceOver(Job &job, weft_rt_type type,
                                weft_rt_reduction reduction, int32_t tree) {
    std::vector<Bytes> data = inputsFor(type, job.program().num_ranks);
    weft_rt_operand operand = {type, 1, numElements, 1, 0, 0, 0};
    job.clear();
    int64_t place = job.place(int64_t(data[0].size()));
    for (size_t rank = 0; rank < data.size(); ++rank)
      job.write(int64_t(rank), place, data[rank]);
    // Constant data of a program: it outlives the task.
    std::vector<weft_rt_collective> parts;
    for (int32_t c = 0; c < job.program().num_channels; ++c)
      parts.push_back({WEFT_RT_ALL_REDUCE, reduction, c, 1, &operand, nullptr,
                       "part", tree});
    Status status = job.run([&](Rank rank) {
      for (const weft_rt_collective &part : parts) {
        void *buffer = rank.at(place);
        const void *in = buffer;
        rank.collective(part, &in, &buffer);
      }
    });
    EXPECT_TRUE(status.ok()) << status.message();
    for (size_t rank = 0; rank < data.size(); ++rank)
      data[rank] = job.read(int64_t(rank), place, int64_t(data[rank].size()));
    return data;
  }

  /// Says whether a group of outer * inner ranks has the bits of groups of
  /// `inner`, of neighbors, and then of `outer`.
  bool nests(int64_t outer, int64_t inner, weft_rt_type type,
             weft_rt_reduction reduction, int32_t tree) {
    std::vector<weft_rt_axis> axes = {{"outer", outer}, {"inner", inner}};
    Job whole(GetParam(), axes, {{"all", {{0, 1, outer}, {1, 1, inner}}}});
    Job parts(GetParam(), axes,
              {{"inner", {{1, 1, inner}}}, {"outer", {{0, 1, outer}}}});
    std::vector<Bytes> one = reduceOver(whole, type, reduction, tree);
    std::vector<Bytes> two = reduceOver(parts, type, reduction, tree);
    for (size_t rank = 0; rank < one.size(); ++rank)
      if (!sameElements(type, one[rank], two[rank], numElements))
        return false;
    return true;
  }
};

TEST_P(Trees, AsWritten) {
  for (int64_t size = 1; size <= 8; ++size) {
    Job job(GetParam(), {{"a", size}}, {{"all", {{0, 1, size}}}});
    std::vector<Bytes> inputs = inputsFor(WEFT_RT_F32, size);
    std::vector<Bytes> sums = reduceOver(job, WEFT_RT_F32, WEFT_RT_SUM, 1);
    Bytes expected = inputs[0];
    for (int64_t i = 0; i < numElements; ++i) {
      std::vector<float> values;
      for (const Bytes &input : inputs)
        values.push_back(
            float(decode(WEFT_RT_F32, getElement(WEFT_RT_F32, input, i))));
      setElement(WEFT_RT_F32, expected, i,
                 encode(WEFT_RT_F32, written(values)));
    }
    for (const Bytes &sum : sums)
      EXPECT_TRUE(sameElements(WEFT_RT_F32, expected, sum, numElements))
          << size;
  }
}

TEST_P(Trees, Nest) {
  for (weft_rt_type type : {WEFT_RT_F32, WEFT_RT_F64, WEFT_RT_BF16, WEFT_RT_F16,
                            WEFT_RT_F8E4M3FN, WEFT_RT_F8E5M2})
    for (weft_rt_reduction reduction : {WEFT_RT_SUM, WEFT_RT_PROD})
      for (auto [outer, inner] :
           {std::pair(2, 4), {4, 2}, {2, 2}, {3, 2}, {3, 4}, {5, 2}, {8, 1}})
        EXPECT_TRUE(nests(outer, inner, type, reduction, 1))
            << reductionName(reduction) << " of " << typeName(type) << " over "
            << outer << " times " << inner;
}

/// Else the tests above would pass without a tree.
TEST_P(Trees, OthersDoNotNest) {
  EXPECT_FALSE(nests(2, 4, WEFT_RT_F32, WEFT_RT_SUM, 0));
  EXPECT_FALSE(nests(2, 4, WEFT_RT_BF16, WEFT_RT_SUM, 0));
  EXPECT_FALSE(nests(2, 3, WEFT_RT_F32, WEFT_RT_SUM, 1));
}

INSTANTIATE_TEST_SUITE_P(All, Trees, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
