// SPDX-License-Identifier: Apache-2.0

// Meshes, axis references and sharding values.

#include "weft/Sharding/Sharding.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir::weft;

namespace {

class ShardingTest : public testing::Test {
protected:
  Mesh mesh{{{"dp", 2}, {"one", 1}, {"tp", 4}}};
  AxisRef dp = mesh.wholeAxis(0);
  AxisRef one = mesh.wholeAxis(1);
  AxisRef tp = mesh.wholeAxis(2);
  AxisRef tpMajor{2, 1, 2};
  AxisRef tpMinor{2, 2, 2};

  Sharding make(llvm::ArrayRef<AxisList> dims) { return Sharding(dims); }
};

//===----------------------------------------------------------------------===//
// Mesh and axes
//===----------------------------------------------------------------------===//

TEST_F(ShardingTest, RankCoordinates) {
  EXPECT_EQ(mesh.numRanks(), 8);
  EXPECT_EQ(Mesh().numRanks(), 1);
  EXPECT_EQ(mesh.coordinate(6, dp), 1);
  EXPECT_EQ(mesh.coordinate(6, tp), 2);
  EXPECT_EQ(mesh.coordinate(6, tpMajor), 1);
  EXPECT_EQ(mesh.coordinate(6, tpMinor), 0);
  EXPECT_EQ(mesh.axisIndex("tp"), 2);
  EXPECT_EQ(mesh.axisIndex("pp"), std::nullopt);
}

TEST_F(ShardingTest, GroupMembersAreMajorFirst) {
  auto members = [&](int64_t rank, llvm::ArrayRef<AxisRef> axes) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < numShards(axes); ++i) {
      result.push_back(mesh.groupMember(rank, axes, i));
      EXPECT_EQ(mesh.groupIndex(result.back(), axes), i);
    }
    return result;
  };
  EXPECT_EQ(members(6, {tp}), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(members(6, {tpMajor, dp}), (std::vector<int64_t>{0, 4, 2, 6}));
  EXPECT_EQ(members(6, {}), (std::vector<int64_t>{6}));
}

TEST_F(ShardingTest, SubAxisRelations) {
  EXPECT_TRUE(tp.overlaps(tpMinor));
  EXPECT_FALSE(tpMajor.overlaps(tpMinor));
  EXPECT_FALSE(tp.overlaps(dp));
  EXPECT_TRUE(tp.contains(tpMinor));
  EXPECT_FALSE(tpMinor.contains(tp));
  EXPECT_TRUE(tpMajor.isFollowedBy(tpMinor));
  EXPECT_FALSE(tpMinor.isFollowedBy(tpMajor));
  EXPECT_EQ(tp.split(2), std::make_pair(tpMajor, tpMinor));
  EXPECT_FALSE((AxisRef{0, 1, 2}.isCompatibleWith({0, 1, 3})));
  EXPECT_FALSE((AxisRef{0, 1, 2}.isCompatibleWith({0, 3, 2})));
  EXPECT_TRUE((AxisRef{0, 1, 2}.isCompatibleWith({1, 1, 3})));
}

TEST_F(ShardingTest, AxisLists) {
  EXPECT_EQ(canonicalAxes({dp, one, tpMajor, tpMinor}), (AxisList{dp, tp}));
  EXPECT_EQ(canonicalAxes({tpMinor, tpMajor}), (AxisList{tpMinor, tpMajor}));
  EXPECT_EQ(canonicalAxisSet({tpMinor, tpMajor, dp}), (AxisList{dp, tp}));
  AxisRef x{0, 1, 12};
  EXPECT_EQ(subtractAxes({x, tp}, {{0, 2, 3}}),
            (AxisList{{0, 1, 2}, {0, 6, 2}, tp}));
  EXPECT_EQ(subtractAxes({dp, tp}, {tp, dp}), AxisList());
  EXPECT_TRUE(anyOverlap({dp, tp}, {tpMinor}));
  EXPECT_FALSE(anyOverlap({dp, tpMajor}, {tpMinor}));
}

//===----------------------------------------------------------------------===//
// Shapes and ranges
//===----------------------------------------------------------------------===//

TEST_F(ShardingTest, LocalShapeRoundsUp) {
  Sharding sharding = make({{tp}, {}, {dp}});
  EXPECT_EQ(sharding.localShape({10, 6, 8}),
            (llvm::SmallVector<int64_t>{3, 6, 4}));
  EXPECT_FALSE(sharding.isEven({10, 6, 8}));
  EXPECT_TRUE(sharding.isEven({12, 5, 8}));
  EXPECT_EQ(make({{tp}}).localShape({0}), llvm::SmallVector<int64_t>{0});
}

TEST_F(ShardingTest, RangesMayBeShortOrEmpty) {
  Sharding sharding = make({{dp, tp}});
  auto range = [&](int64_t rank) { return sharding.range(mesh, rank, 0, 9); };
  EXPECT_EQ(range(0), (IndexRange{0, 2}));
  EXPECT_EQ(range(4), (IndexRange{8, 9}));
  EXPECT_EQ(range(5), (IndexRange{9, 9}));
  Sharding minorFirst = make({{tp, dp}});
  EXPECT_EQ(minorFirst.chunkIndex(mesh, 6, 0), 5);
}

//===----------------------------------------------------------------------===//
// Derived shardings
//===----------------------------------------------------------------------===//

TEST_F(ShardingTest, CanonicalForm) {
  Sharding sharding = make({{one, tpMajor, tpMinor}, {one}});
  sharding.partial = {one};
  sharding.kind = Reduction::Max;
  sharding.storage = {tpMinor, tpMajor, one};
  sharding.setOpen(1);
  Sharding expected = make({{tp}, {}});
  expected.storage = {tp};
  expected.openDims = 2;
  EXPECT_EQ(sharding.canonical(), expected);
  EXPECT_EQ(hash_value(sharding.canonical()), hash_value(expected));
  EXPECT_TRUE(sharding.isSameLayout(make({{tp}, {}})));
  EXPECT_EQ(sharding.closed().openDims, 0u);
}

TEST_F(ShardingTest, AxesAreTakenAway) {
  Sharding sharding = make({{tp}, {dp}});
  sharding.storage = {dp, tpMajor};
  EXPECT_EQ(sharding.withoutStorage(), make({{tpMinor}, {}}));
  Sharding withoutMinor = make({{tpMajor}, {dp}});
  withoutMinor.storage = {dp, tpMajor};
  EXPECT_EQ(sharding.withoutAxes({tpMinor}), withoutMinor);
  Sharding partial = make({{tp}});
  partial.partial = {dp};
  EXPECT_EQ(partial.resolved(), make({{tp}}));
  EXPECT_EQ(partial.withoutAxes({dp, tp}), Sharding::replicated(1));
}

TEST_F(ShardingTest, Replicated) {
  EXPECT_TRUE(Sharding::replicated(2).isReplicated());
  EXPECT_TRUE(make({{one}, {}}).isReplicated());
  EXPECT_FALSE(make({{tp}, {}}).isReplicated());
  Sharding partial = Sharding::replicated(0);
  partial.partial = {tp};
  EXPECT_FALSE(partial.isReplicated());
  EXPECT_TRUE(Sharding::fullyOpen(3).isOpen(2));
}

TEST_F(ShardingTest, OrderIsTotal) {
  Sharding open = make({{tp}});
  open.setOpen(0);
  Sharding partial = make({{tp}});
  partial.partial = {dp};
  std::set<Sharding> all = {make({{tp}}),     make({{dp}}), make({{dp, tp}}),
                            make({{tp, dp}}), open,         partial,
                            make({{tp}})};
  EXPECT_EQ(all.size(), 6u);
}

TEST_F(ShardingTest, Text) {
  Sharding sharding = make({{dp, tpMinor}, {}, {}, {tpMajor}});
  sharding.setOpen(2);
  sharding.setOpen(3);
  EXPECT_EQ(sharding.str(mesh),
            R"([{"dp", "tp":(2)2}, {}, {?}, {"tp":(1)2, ?}])");
  Sharding weight = make({{dp}});
  weight.storage = {dp};
  weight.partial = {tp};
  weight.kind = Reduction::Max;
  EXPECT_EQ(weight.str(mesh),
            R"([{"dp"}], storage = {"dp"}, partial = max {"tp"})");
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

TEST_F(ShardingTest, ValidOnes) {
  EXPECT_EQ(make({{dp, one}, {tpMinor, tpMajor}}).validate(mesh, {3, 0}), "");
  Sharding partial = make({{tpMajor}});
  partial.partial = {tpMinor, dp};
  partial.storage = {tpMajor};
  EXPECT_EQ(partial.validate(mesh, {7}), "");
}

TEST_F(ShardingTest, InvalidOnes) {
  EXPECT_EQ(make({{dp}}).validate(mesh, {2, 2}),
            "sharding of 1 dimensions on a tensor of 2");
  EXPECT_EQ(make({{}}).validate(mesh, {-1}), "dimension 0 has no static size");
  EXPECT_EQ(make({{{3, 1, 2}}}).validate(mesh, {2}),
            "axis number 3 on a mesh of 3 axes");
  EXPECT_EQ(make({{{2, 2, 4}}}).validate(mesh, {8}),
            R"(sub-axis "tp":(2)4 does not divide the axis of size 4)");
  EXPECT_EQ(make({{dp}, {dp}}).validate(mesh, {2, 2}),
            R"(axis "dp" is used twice: in dimension 0 and in dimension 1)");
  EXPECT_EQ(make({{tp, tpMinor}}).validate(mesh, {8}),
            R"(axes "tp" in dimension 0 and "tp":(2)2 in dimension 0 overlap)");
  EXPECT_EQ(Sharding::replicated(65).validate(
                mesh, llvm::SmallVector<int64_t>(65, 1)),
            "tensor of 65 dimensions; at most 64 can be sharded");
}

TEST_F(ShardingTest, InvalidPartialAndStorage) {
  Sharding sharding = make({{tp}});
  sharding.partial = {tp};
  EXPECT_EQ(
      sharding.validate(mesh, {8}),
      R"(axis "tp" is used twice: in dimension 0 and in the partial state)");
  Sharding storage = make({{tp}});
  storage.storage = {dp};
  EXPECT_EQ(storage.validate(mesh, {8}),
            R"(storage axis "dp" shards no dimension)");
  storage.storage = {tp, tpMajor};
  EXPECT_EQ(storage.validate(mesh, {8}),
            R"(storage axes "tp" and "tp":(1)2 overlap)");
}

TEST_F(ShardingTest, SubAxesThatDoNotGoTogether) {
  Mesh six({{"x", 6}});
  EXPECT_EQ(make({{{0, 1, 2}}, {{0, 3, 2}}}).validate(six, {6, 6}),
            R"(axes "x":(1)2 in dimension 0 and "x":(3)2 in dimension 1 )"
            R"(overlap)");
}

} // namespace
