// SPDX-License-Identifier: Apache-2.0

// Ranks in the mesh, groups of channels, and cutting and joining of tensors:
// each element is followed through the definition in abi.h.

#include "core/sharding.h"
#include "core/topology.h"
#include "core/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

const weft_rt_axis meshAxes[] = {{"dp", 2}, {"tp", 4}};

weft_rt_program mesh() {
  weft_rt_program program = {};
  program.num_ranks = 8;
  program.num_axes = 2;
  program.axes = meshAxes;
  return program;
}

using Refs = std::vector<weft_rt_axis_ref>;

int64_t indexOf(int64_t rank, const Refs &refs) {
  return indexAlong(mesh(), rank, refs.data(), int32_t(refs.size()));
}

TEST(Topology, DigitsAreMixedRadix) {
  EXPECT_EQ(indexOf(6, {{0, 1, 2}}), 1);
  EXPECT_EQ(indexOf(6, {{1, 1, 4}}), 2);
  EXPECT_EQ(indexOf(6, {{1, 1, 2}}), 1);
  EXPECT_EQ(indexOf(6, {{1, 2, 2}}), 0);
  EXPECT_EQ(indexOf(6, {{1, 1, 4}, {0, 1, 2}}), 5);
  EXPECT_EQ(indexOf(7, {}), 0);
}

TEST(Topology, GroupsKeepTheOrderOfTheirAxes) {
  Refs refs = {{1, 2, 2}, {0, 1, 2}};
  weft_rt_channel channel = {"c", 2, refs.data()};
  ChannelGroups groups = groupsOf(mesh(), channel);
  EXPECT_THAT(groups.groups,
              ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6, 3, 7)));
  EXPECT_EQ(groups.ofRank[3].group, 1);
  EXPECT_EQ(groups.ofRank[3].index, 2);
}

TEST(Topology, RefusesWrongReferences) {
  auto failure = [](const Refs &refs) {
    return checkAxisRefs(mesh(), refs, "it").message();
  };
  EXPECT_EQ(failure({{1, 1, 2}, {0, 1, 2}, {1, 2, 2}}), "");
  EXPECT_EQ(failure({{2, 1, 2}}), "it names axis 2 of 2");
  EXPECT_EQ(failure({{1, 1, 3}}),
            "it uses \"tp\":(1)3, which does not divide axis \"tp\" of size 4");
  EXPECT_EQ(failure({{1, 1, 4}, {1, 2, 2}}),
            "it uses \"tp\" and \"tp\":(2)2, which overlap");
  EXPECT_THAT(failure({{0, 1, 2}, {0, 1, 2}}), HasSubstr("overlap"));
}

/// A tensor with its tables.
struct Tensor {
  std::vector<int64_t> shape, local;
  std::vector<Refs> refs;
  std::vector<weft_rt_dim_sharding> cuts;
  weft_rt_tensor table = {};

  Tensor(weft_rt_type type, std::vector<int64_t> givenShape,
         std::vector<Refs> givenRefs)
      : shape(std::move(givenShape)), refs(std::move(givenRefs)) {
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t shards = shardCount(refs[d].data(), int32_t(refs[d].size()));
      local.push_back((shape[d] + shards - 1) / shards);
      cuts.push_back({int32_t(refs[d].size()), refs[d].data()});
    }
    table = {"t",
             type,
             int32_t(shape.size()),
             shape.data(),
             local.data(),
             cuts.data(),
             -1,
             0};
  }
};

/// Element i of a packed buffer, one element at a time.
uint64_t element(weft_rt_type type, const std::vector<uint8_t> &buffer,
                 int64_t i) {
  if (bitWidth(type) == 4)
    return buffer[i / 2] >> (i % 2 * 4) & 0xf;
  uint64_t bits = 0;
  int width = bitWidth(type) / 8;
  for (int b = 0; b < width; ++b)
    bits |= uint64_t(buffer[i * width + b]) << (8 * b);
  return bits;
}

/// Checks each valid element of the rank's buffer against the global one.
void checkLocal(const Tensor &tensor, int64_t rank,
                const std::vector<uint8_t> &global,
                const std::vector<uint8_t> &local) {
  int64_t count = *elementCount(tensor.local.data(), tensor.local.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0, rest = i, stride = 1;
    bool isPadding = false;
    for (int64_t d = int64_t(tensor.shape.size()) - 1; d >= 0; --d) {
      int64_t chunk = indexOf(rank, tensor.refs[d]);
      int64_t coordinate = chunk * tensor.local[d] + rest % tensor.local[d];
      rest /= tensor.local[d];
      isPadding |= coordinate >= tensor.shape[d];
      at += coordinate * stride;
      stride *= tensor.shape[d];
    }
    uint64_t filler = bitWidth(tensor.table.type) == 4 ? 0xe : 0xee;
    uint64_t found = element(tensor.table.type, local, i);
    uint64_t expected =
        isPadding ? filler : element(tensor.table.type, global, at);
    EXPECT_EQ(found & 0xff, expected & 0xff) << "rank " << rank << " at " << i;
    if (!isPadding) {
      EXPECT_EQ(found, expected) << "rank " << rank << " at " << i;
    }
  }
}

void checkCutAndJoin(const Tensor &tensor) {
  weft_rt_program program = mesh();
  weft_rt_type type = tensor.table.type;
  int64_t count = *elementCount(tensor.shape.data(), tensor.shape.size());
  int64_t localCount = *elementCount(tensor.local.data(), tensor.local.size());
  std::vector<uint8_t> global(byteSize(type, count)), joined(global.size());
  for (size_t i = 0; i < global.size(); ++i)
    global[i] = uint8_t(i * 37 + 11);
  for (int64_t rank = 0; rank < 8; ++rank) {
    std::vector<uint8_t> local(byteSize(type, localCount), 0xee);
    Region region = regionOf(program, tensor.table, rank);
    cutRegion(type, region, global.data(), local.data());
    checkLocal(tensor, rank, global, local);
    if (firstHolder(program, tensor.table, rank) == rank)
      joinRegion(type, region, local.data(), joined.data());
  }
  if (bitWidth(type) == 4 && count % 2 == 1) // the last half byte is nobody's
    joined.back() |= global.back() & 0xf0;
  EXPECT_EQ(joined, global);
}

TEST(Sharding, CutsAndJoins) {
  Refs dp = {{0, 1, 2}}, tp = {{1, 1, 4}}, high = {{1, 1, 2}},
       low = {{1, 2, 2}};
  Refs both = {{1, 1, 4}, {0, 1, 2}}, mixed = {{1, 2, 2}, {0, 1, 2}};
  for (weft_rt_type type :
       {WEFT_RT_F32, WEFT_RT_BF16, WEFT_RT_U8, WEFT_RT_F64, WEFT_RT_F4E2M1FN}) {
    checkCutAndJoin(Tensor(type, {}, {}));
    checkCutAndJoin(Tensor(type, {8}, {tp}));
    checkCutAndJoin(Tensor(type, {10}, {tp}));
    checkCutAndJoin(Tensor(type, {9}, {both}));
    checkCutAndJoin(Tensor(type, {3, 5}, {both, {}}));
    checkCutAndJoin(Tensor(type, {6, 8}, {dp, tp}));
    checkCutAndJoin(Tensor(type, {6, 8}, {tp, dp}));
    checkCutAndJoin(Tensor(type, {7, 3, 5}, {low, dp, high}));
    checkCutAndJoin(Tensor(type, {4, 6, 2}, {{}, mixed, {}}));
    checkCutAndJoin(Tensor(type, {4, 3, 6}, {{}, {}, high}));
    checkCutAndJoin(Tensor(type, {5, 1, 7}, {dp, {}, {}}));
    checkCutAndJoin(Tensor(type, {0, 4}, {dp, {}}));
  }
}

TEST(Sharding, FirstHolderIsTheLowestRank) {
  Tensor replicated(WEFT_RT_F32, {4}, {{}});
  Tensor overTp(WEFT_RT_F32, {4}, {{{1, 1, 4}}});
  Tensor overLow(WEFT_RT_F32, {4}, {{{1, 2, 2}}});
  auto holders = [](const Tensor &tensor) {
    std::vector<int64_t> ranks;
    for (int64_t rank = 0; rank < 8; ++rank)
      ranks.push_back(firstHolder(mesh(), tensor.table, rank));
    return ranks;
  };
  EXPECT_THAT(holders(replicated), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(holders(overTp), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(holders(overLow), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(Types, CountsDoNotOverflow) {
  int64_t good[] = {3, 4}, empty[] = {0, int64_t(1) << 50},
          huge[] = {int64_t(1) << 31, int64_t(1) << 31}, negative[] = {-1};
  EXPECT_EQ(elementCount(good, 2), 12);
  EXPECT_EQ(elementCount(empty, 2), 0);
  EXPECT_EQ(elementCount(huge, 2), std::nullopt);
  EXPECT_EQ(elementCount(negative, 1), std::nullopt);
  EXPECT_EQ(byteSize(WEFT_RT_F4E2M1FN, 3), 2);
}

} // namespace
