// SPDX-License-Identifier: Apache-2.0

// Every collective, with every type, in groups of 1 to 8, in and out of place,
// with one operand and with several, on whole meshes and on parts of them,
// against a plain loop.

#include "core/types.h"
#include "job.h"
#include "reference.h"

#include <gtest/gtest.h>

using namespace weft::rt;
using namespace weft::rt::cts;

namespace {

/// Inputs and outputs of one operand on all ranks.
struct OperandBuffers {
  std::vector<Bytes> in, out;
};

/// A mesh with the channel under test.
struct MeshCase {
  std::vector<weft_rt_axis> axes;
  ChannelSpec channel;
};

/// Meshes whose channel 0 has groups of `size`: alone, strided and contiguous
/// beside another axis, over two axes, and over a part of one axis.
std::vector<MeshCase> meshesFor(int64_t size) {
  std::vector<MeshCase> cases = {{{{"a", size}}, {"all", {{0, 1, size}}}}};
  if (size <= 4) {
    cases.push_back({{{"a", size}, {"b", 2}}, {"strided", {{0, 1, size}}}});
    cases.push_back({{{"b", 2}, {"a", size}}, {"inner", {{1, 1, size}}}});
    cases.push_back({{{"a", 2 * size}}, {"high half", {{0, 1, size}}}});
    cases.push_back({{{"a", 2 * size}}, {"low half", {{0, 2, size}}}});
  }
  if (size % 2 == 0)
    cases.push_back({{{"a", 2}, {"b", size / 2}},
                     {"swapped", {{1, 1, size / 2}, {0, 1, 2}}}});
  return cases;
}

/// Operands of several forms. Rows of f4e2m1fn must fill bytes, hence the even
/// inner sizes.
std::vector<weft_rt_operand> operandsFor(weft_rt_collective_kind kind,
                                         weft_rt_type type) {
  switch (kind) {
  case WEFT_RT_ALL_REDUCE:
  case WEFT_RT_PERMUTE:
    return {{type, 1, 1, 1, 0, 0, 0},
            {type, 1, 1100, 1, 0, 0, 0},
            {type, 1, 0, 1, 0, 0, 0}};
  case WEFT_RT_ALL_TO_ALL:
    return {{type, 2, 3, 4, 2, 3, 4},
            {type, 1, 6, 4, 4, 3, 2},
            {type, 5, 1, 4, 1, 5, 4},
            {type, 6, 4, 1, 2, 2, 6}};
  default:
    return {{type, 1, 1, 2, 0, 0, 0},
            {type, 3, 5, 4, 0, 0, 0},
            {type, 7, 2, 1, 0, 0, 0},
            {type, 1, 520, 2, 0, 0, 0},
            {type, 0, 4, 2, 0, 0, 0}};
  }
}

std::vector<int32_t> rotation(int64_t size) {
  std::vector<int32_t> sources;
  for (int64_t i = 0; i < size; ++i)
    sources.push_back(i == 0 ? -1 : int32_t(i - 1));
  return sources;
}

std::vector<OperandBuffers> makeBuffers(const weft_rt_collective &collective,
                                        int64_t size, int64_t ranks) {
  bool isReduction = collective.kind == WEFT_RT_REDUCE_SCATTER ||
                     collective.kind == WEFT_RT_ALL_REDUCE;
  std::vector<OperandBuffers> buffers(collective.num_operands);
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    const weft_rt_operand &operand = collective.operands[i];
    int64_t inCount = inputElements(collective, operand, size);
    int64_t outCount = outputElements(collective, operand, size);
    auto fill = isReduction ? randomNumbers : randomElements;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      buffers[i].in.push_back(fill(operand.type, inCount, rank * 100 + i));
      buffers[i].out.push_back(randomElements(operand.type, outCount, 7));
    }
  }
  return buffers;
}

/// Bytes that a rank needs for a test in a group of `size`.
int64_t memoryFor(int64_t size) { return size << 16; }

/// Runs the collective on all ranks of the job, on copies of the inputs when
/// `inPlace`.
Status runOn(Job &job, const weft_rt_collective &collective,
             std::vector<OperandBuffers> &buffers, bool inPlace) {
  std::vector<int64_t> in, out;
  job.clear();
  for (OperandBuffers &operand : buffers) {
    in.push_back(job.place(int64_t(operand.in[0].size())));
    out.push_back(inPlace ? in.back()
                          : job.place(int64_t(operand.out[0].size())));
    for (int64_t rank = 0; rank < job.program().num_ranks; ++rank) {
      job.write(rank, in.back(), operand.in[rank]);
      if (!inPlace)
        job.write(rank, out.back(), operand.out[rank]);
    }
  }
  Status status = job.run([&](Rank rank) {
    std::vector<const void *> from;
    std::vector<void *> to;
    for (size_t i = 0; i < buffers.size(); ++i) {
      from.push_back(rank.at(in[i]));
      to.push_back(rank.at(out[i]));
    }
    rank.collective(collective, from.data(), to.data());
  });
  for (size_t i = 0; status.ok() && i < buffers.size(); ++i)
    for (int64_t rank = 0; rank < job.program().num_ranks; ++rank)
      buffers[i].out[rank] =
          job.read(rank, out[i], int64_t(buffers[i].out[rank].size()));
  return status;
}

void checkOutputs(Job &job, const weft_rt_collective &collective,
                  const std::vector<OperandBuffers> &buffers) {
  for (const std::vector<int64_t> &members : job.groups(0).groups) {
    for (int32_t i = 0; i < collective.num_operands; ++i) {
      const weft_rt_operand &operand = collective.operands[i];
      std::vector<Bytes> inputs;
      for (int64_t rank : members)
        inputs.push_back(buffers[i].in[rank]);
      for (size_t index = 0; index < members.size(); ++index) {
        Bytes expected = expectedOutput(collective, operand, inputs, index);
        EXPECT_TRUE(
            sameElements(operand.type, expected, buffers[i].out[members[index]],
                         outputElements(collective, operand, members.size())))
            << kindName(collective.kind) << (collective.tree ? " tree " : " ")
            << reductionName(collective.reduction) << " operand " << i
            << " rank " << members[index] << " channel "
            << job.program().channels[0].name;
      }
    }
  }
}

void checkCollective(Job &job, const weft_rt_collective &collective,
                     int64_t size) {
  std::vector<OperandBuffers> buffers =
      makeBuffers(collective, size, job.program().num_ranks);
  Status status = runOn(job, collective, buffers, false);
  ASSERT_TRUE(status.ok()) << status.message();
  checkOutputs(job, collective, buffers);
  if (collective.kind != WEFT_RT_ALL_REDUCE)
    return;
  status = runOn(job, collective, buffers, true);
  ASSERT_TRUE(status.ok()) << status.message();
  checkOutputs(job, collective, buffers);
}

/// The reductions that the type has, or a placeholder for kinds that do not
/// reduce.
std::vector<weft_rt_reduction> reductionsFor(weft_rt_collective_kind kind,
                                             weft_rt_type type) {
  if (kind != WEFT_RT_REDUCE_SCATTER && kind != WEFT_RT_ALL_REDUCE)
    return {WEFT_RT_SUM};
  std::vector<weft_rt_reduction> reductions;
  for (int i = 0; i <= WEFT_RT_OR; ++i)
    if (mayReduce(type, weft_rt_reduction(i)))
      reductions.push_back(weft_rt_reduction(i));
  return reductions;
}

using Parameters = std::tuple<BackendUnderTest, int, int, int>;

class Collective : public testing::TestWithParam<Parameters> {
protected:
  BackendUnderTest backend = std::get<0>(GetParam());
  weft_rt_collective_kind kind =
      weft_rt_collective_kind(std::get<1>(GetParam()));
  weft_rt_type type = weft_rt_type(std::get<2>(GetParam()));
  int64_t size = std::get<3>(GetParam());
  std::vector<weft_rt_operand> operands = operandsFor(kind, type);
  std::vector<int32_t> sources = rotation(size);

  weft_rt_collective describe(weft_rt_reduction reduction) const {
    return {
        kind,           reduction, 0, int32_t(operands.size()), operands.data(),
        sources.data(), "test",    0};
  }

  /// The greatest value of weft_rt_collective.tree to try.
  int32_t lastTree() const {
    return kind == WEFT_RT_REDUCE_SCATTER || kind == WEFT_RT_ALL_REDUCE;
  }
};

TEST_P(Collective, AllReductions) {
  MeshCase mesh = meshesFor(size)[0];
  Job job(backend, mesh.axes, {mesh.channel}, {}, {}, memoryFor(size));
  for (weft_rt_reduction reduction : reductionsFor(kind, type)) {
    for (int32_t tree = 0; tree <= lastTree(); ++tree) {
      weft_rt_collective collective = describe(reduction);
      collective.tree = tree;
      checkCollective(job, collective, size);
      collective.num_operands = 1;
      checkCollective(job, collective, size);
    }
  }
}

TEST_P(Collective, AllMeshes) {
  std::vector<weft_rt_reduction> reductions = reductionsFor(kind, type);
  if (reductions.empty())
    return;
  for (const MeshCase &mesh : meshesFor(size)) {
    Job job(backend, mesh.axes, {mesh.channel}, {}, {}, memoryFor(size));
    for (int32_t tree = 0; tree <= lastTree(); ++tree) {
      weft_rt_collective collective = describe(reductions[0]);
      collective.tree = tree;
      checkCollective(job, collective, size);
    }
  }
}

std::string parameterName(const testing::TestParamInfo<Parameters> &info) {
  const auto &[backend, kind, type, size] = info.param;
  return std::string(backend.name) + "_" +
         kindName(weft_rt_collective_kind(kind)) + "_" +
         typeName(weft_rt_type(type)) + "_" + std::to_string(size);
}

INSTANTIATE_TEST_SUITE_P(
    All, Collective,
    testing::Combine(testing::ValuesIn(backendsUnderTest),
                     testing::Range(0, int(WEFT_RT_PERMUTE) + 1),
                     testing::Range(0, int(WEFT_RT_NUM_TYPES)),
                     testing::Range(1, 9)),
    parameterName);

} // namespace
