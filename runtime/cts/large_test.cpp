// SPDX-License-Identifier: Apache-2.0

// Collectives whose outputs are so large that a backend may write them in a way
// of its own: in one row and in many, with rows of whole cache lines and not,
// at aligned places and not, and nothing past their end.

#include "core/types.h"
#include "job.h"
#include "reference.h"

#include <gtest/gtest.h>

using namespace weft::rt;
using namespace weft::rt::cts;

namespace {

constexpr int64_t line = 64; // bytes

class Large : public testing::TestWithParam<BackendUnderTest> {
protected:
  /// Runs a collective of one operand on a group of `size`.
  void check(weft_rt_collective_kind kind, const weft_rt_operand &operand,
             int64_t size, int64_t shift) {
    Job job(GetParam(), {{"a", size}}, {{"all", {{0, 1, size}}}}, {}, {},
            1 << 20);
    weft_rt_collective collective = {kind,     WEFT_RT_SUM, 0,       1,
                                     &operand, nullptr,     "large", 0};
    collective.tree = kind == WEFT_RT_REDUCE_SCATTER;
    int64_t count = outputElements(collective, operand, size);
    std::vector<Bytes> inputs;
    // An output at a place that is `shift` bytes after a whole cache line, and
    // a line after it that nobody may write.
    const Bytes untouched(size_t(byteSize(operand.type, count) + 2 * line),
                          0x5a);
    int64_t in = job.place(
        byteSize(operand.type, inputElements(collective, operand, size)));
    int64_t out = job.place(int64_t(untouched.size())) + shift;
    for (int64_t rank = 0; rank < size; ++rank) {
      inputs.push_back(randomNumbers(
          operand.type, inputElements(collective, operand, size), rank));
      job.write(rank, in, inputs.back());
      job.write(rank, out - shift, untouched);
    }
    Status status = job.run([&](Rank rank) {
      const void *from = rank.at(in);
      void *to = rank.at(out);
      rank.collective(collective, &from, &to);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank < size; ++rank) {
      int64_t bytes = byteSize(operand.type, count);
      EXPECT_TRUE(sameElements(
          operand.type, expectedOutput(collective, operand, inputs, rank),
          job.read(rank, out, bytes), count))
          << kindName(kind) << " of " << operand.outer << " x "
          << operand.extent << " " << typeName(operand.type) << ", rank "
          << rank << " of " << size << ", " << shift << " bytes off a line";
      EXPECT_EQ(job.read(rank, out + bytes, line), Bytes(line, 0x5a));
    }
  }
};

TEST_P(Large, AllForms) {
  for (weft_rt_collective_kind kind :
       {WEFT_RT_ALL_GATHER, WEFT_RT_REDUCE_SCATTER})
    for (weft_rt_type type : {WEFT_RT_F32, WEFT_RT_BF16})
      for (int64_t size : {2, 3})
        for (int64_t shift : {0, 4})
          for (int64_t bytes : {1 << 17, (1 << 17) + 512}) {
            int64_t extent = bytes / byteSize(type, 1);
            check(kind, {type, 1, extent, 1, 0, 0, 0}, size, shift);
            check(kind, {type, 64, extent / 64, 1, 0, 0, 0}, size, shift);
          }
}

INSTANTIATE_TEST_SUITE_P(All, Large, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
