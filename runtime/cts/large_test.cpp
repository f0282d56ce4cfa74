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

/// An output at a place that is `shift` bytes after a whole cache line, and a
/// line after it that nobody may write.
class Output {
public:
  Output(int64_t bytes, int64_t shift)
      : bytes(bytes), memory(bytes + 3 * line, 0x5a) {
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    begin = memory.data() + (line - address % line) % line + shift;
  }
  void *data() { return begin; }
  Bytes content() const { return Bytes(begin, begin + bytes); }
  bool isRestUntouched() const {
    return Bytes(begin + bytes, begin + bytes + line) == Bytes(line, 0x5a);
  }

private:
  int64_t bytes;
  Bytes memory;
  uint8_t *begin;
};

class Large : public testing::TestWithParam<BackendUnderTest> {
protected:
  /// Runs a collective of one operand on a group of `size`.
  void check(weft_rt_collective_kind kind, const weft_rt_operand &operand,
             int64_t size, int64_t shift) {
    Job job(GetParam(), {{"a", size}}, {{"all", {{0, 1, size}}}});
    weft_rt_collective collective = {kind,     WEFT_RT_SUM, 0,       1,
                                     &operand, nullptr,     "large", 0};
    collective.tree = kind == WEFT_RT_REDUCE_SCATTER;
    int64_t count = outputElements(collective, operand, size);
    std::vector<Bytes> inputs;
    std::vector<Output> outputs;
    for (int64_t rank = 0; rank < size; ++rank) {
      inputs.push_back(randomNumbers(
          operand.type, inputElements(collective, operand, size), rank));
      outputs.emplace_back(byteSize(operand.type, count), shift);
    }
    Status status = job.run([&](Rank rank) {
      const void *in = inputs[rank.id()].data();
      void *out = outputs[rank.id()].data();
      rank.collective(collective, &in, &out);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(sameElements(
          operand.type, expectedOutput(collective, operand, inputs, rank),
          outputs[rank].content(), count))
          << kindName(kind) << " of " << operand.outer << " x "
          << operand.extent << " " << typeName(operand.type) << ", rank "
          << rank << " of " << size << ", " << shift << " bytes off a line";
      EXPECT_TRUE(outputs[rank].isRestUntouched());
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
