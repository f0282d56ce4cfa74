// SPDX-License-Identifier: Apache-2.0

// Known minima of the reshard planner, step by step, and its limits: kept
// partial states, sub-axes without common parts, meshes that are too large to
// search, and what it refuses.

#include "ReshardSimulator.h"

#include "gtest/gtest.h"

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

Sharding make(llvm::ArrayRef<AxisList> dims, const AxisList &partial = {},
              Reduction kind = Reduction::Sum) {
  Sharding sharding(dims);
  sharding.partial = partial;
  sharding.kind = kind;
  return sharding.canonical();
}

class ReshardPlanTest : public testing::Test {
protected:
  /// Plans for f32, and returns the steps as text, one a line.
  std::string plan(const Sharding &from, const Sharding &to,
                   llvm::ArrayRef<int64_t> shape) {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (const ReshardStep &step : planReshard(from, to, shape, 32, mesh)) {
      printStep(os, step, mesh);
      os << '\n';
    }
    return text;
  }

  Mesh mesh{{{"dp", 2}, {"fsdp", 2}, {"tp", 4}}};
  AxisRef dp = mesh.wholeAxis(0);
  AxisRef fsdp = mesh.wholeAxis(1);
  AxisRef tp = mesh.wholeAxis(2);
  AxisRef tpMajor = tp.split(2).first;
  AxisRef tpMinor = tp.split(2).second;
};

TEST_F(ReshardPlanTest, SameLayoutNeedsNothing) {
  Sharding from = make({{dp}, {}});
  from.storage = {dp};
  from.setOpen(1);
  EXPECT_EQ(plan(from, make({{dp}, {}}), {8, 8}), "");
}

TEST_F(ReshardPlanTest, GatherOfAWeight) {
  EXPECT_EQ(plan(make({{fsdp}, {tp}}), make({{}, {tp}}), {256, 512}),
            "all_gather {\"fsdp\"} dim 0 -> [{}, {\"tp\"}], local 256x128, "
            "65536 bytes\n");
}

TEST_F(ReshardPlanTest, SliceMovesNothing) {
  EXPECT_EQ(plan(make({{}, {}}), make({{dp, fsdp}, {tp}}), {8, 8}),
            "slice {\"dp\", \"fsdp\"} dim 0 -> [{\"dp\", \"fsdp\"}, {}], local "
            "2x8, 0 bytes\n"
            "slice {\"tp\"} dim 1 -> [{\"dp\", \"fsdp\"}, {\"tp\"}], local "
            "2x2, 0 bytes\n");
}

TEST_F(ReshardPlanTest, MovedAxisIsOneAllToAll) {
  EXPECT_EQ(plan(make({{tp}, {}}), make({{}, {tp}}), {8, 16}),
            "all_to_all {\"tp\"} split 1 concat 0 -> [{}, {\"tp\"}], local "
            "8x4, 96 bytes\n");
}

TEST_F(ReshardPlanTest, PartialToShardedIsOneReduceScatter) {
  EXPECT_EQ(plan(make({{}, {}}, {tp}), make({{tp}, {}}), {8, 8}),
            "reduce_scatter sum {\"tp\"} dim 0 -> [{\"tp\"}, {}], local 2x8, "
            "192 bytes\n");
}

TEST_F(ReshardPlanTest, GradientOfAReplicatedAndShardedWeight) {
  EXPECT_EQ(plan(make({{}, {}}, {dp, fsdp}), make({{fsdp}, {}}), {8, 8}),
            "reduce_scatter sum {\"fsdp\"} dim 0 -> [{\"fsdp\"}, {}], partial "
            "= sum {\"dp\"}, local 4x8, 128 bytes\n"
            "all_reduce sum {\"dp\"} -> [{\"fsdp\"}, {}], local 4x8, 128 "
            "bytes\n");
}

TEST_F(ReshardPlanTest, AllReduceIsOneStep) {
  EXPECT_EQ(plan(make({{}}, {dp, tp}, Reduction::Max), make({{}}), {16}),
            "all_reduce max {\"dp\", \"tp\"} -> [{}], local 16, 112 bytes\n");
  // 2 * 7 / 8 of 20 bytes is 35.
  EXPECT_EQ(plan(make({{}}, {dp, tp}), make({{}}), {5}),
            "all_reduce sum {\"dp\", \"tp\"} -> [{}], local 5, 35 bytes\n");
  EXPECT_EQ(plan(make({}, {dp}), make({}), {}),
            "all_reduce sum {\"dp\"} -> [], local scalar, 4 bytes\n");
}

TEST_F(ReshardPlanTest, PermutedAndSwappedAxes) {
  EXPECT_EQ(plan(make({{dp, fsdp}, {}}), make({{fsdp, dp}, {}}), {8, 8}),
            "permute {\"dp\", \"fsdp\"} sources [0, 2, 1, 3] -> [{\"fsdp\", "
            "\"dp\"}, {}], local 2x8, 64 bytes\n");
  EXPECT_EQ(plan(make({{dp}, {fsdp}}), make({{fsdp}, {dp}}), {8, 8}),
            "permute {\"dp\", \"fsdp\"} sources [0, 2, 1, 3] -> [{\"fsdp\"}, "
            "{\"dp\"}], local 4x4, 64 bytes\n");
}

TEST_F(ReshardPlanTest, SubAxes) {
  EXPECT_EQ(plan(make({{tp}, {}}), make({{tpMajor}, {tpMinor}}), {8, 8}),
            "all_to_all {\"tp\":(2)2} split 1 concat 0 -> [{\"tp\":(1)2}, "
            "{\"tp\":(2)2}], local 4x4, 32 bytes\n");
}

TEST_F(ReshardPlanTest, UnevenSizesArePaddedWhereWhole) {
  EXPECT_EQ(plan(make({{}}, {tp}), make({{tp}}), {10}),
            "pad dim 0 -> [{}], partial = sum {\"tp\"}, local 12, 0 bytes\n"
            "reduce_scatter sum {\"tp\"} dim 0 -> [{\"tp\"}], local 3, 36 "
            "bytes\n");
  // Chunks of 2 and of 3 do not nest: through the whole. 16 is cut to 12 at
  // once, not to 10 and padded again.
  EXPECT_EQ(plan(make({{dp, tp}}), make({{tp}}), {10}),
            "all_gather {\"dp\", \"tp\"} dim 0 -> [{}], local 16, 56 bytes\n"
            "unpad dim 0 -> [{}], local 12, 0 bytes\n"
            "slice {\"tp\"} dim 0 -> [{\"tp\"}], local 3, 0 bytes\n");
}

TEST_F(ReshardPlanTest, KeptPartialStateTakesNoPart) {
  EXPECT_EQ(plan(make({{tp}, {}}, {dp}), make({{}, {tp}}, {dp}), {8, 8}),
            "all_to_all {\"tp\"} split 1 concat 0 -> [{}, {\"tp\"}], partial = "
            "sum {\"dp\"}, local 8x2, 48 bytes\n");
  EXPECT_EQ(plan(make({{}, {}}, {dp, fsdp}), make({{fsdp}, {}}, {dp}), {8, 8}),
            "reduce_scatter sum {\"fsdp\"} dim 0 -> [{\"fsdp\"}, {}], partial "
            "= sum {\"dp\"}, local 4x8, 128 bytes\n");
}

// A reduction that is to be whole again is worth using other axes that shard:
// 32 + 28 + 32 bytes, where an all_reduce and an all_to_all are 64 + 48.
TEST_F(ReshardPlanTest, ReductionIsSpreadBeforeItMoves) {
  EXPECT_EQ(plan(make({{tp}, {}}, {fsdp}), make({{}, {tp}}), {8, 8}),
            "reduce_scatter sum {\"fsdp\"} dim 0 -> [{\"tp\", \"fsdp\"}, {}], "
            "local 1x8, 32 bytes\n"
            "all_to_all {\"tp\", \"fsdp\"} split 1 concat 0 -> [{}, {\"tp\", "
            "\"fsdp\"}], local 8x1, 28 bytes\n"
            "all_gather {\"fsdp\"} dim 1 -> [{}, {\"tp\"}], local 8x2, 32 "
            "bytes\n");
}

TEST_F(ReshardPlanTest, Refusals) {
  EXPECT_EQ(canReshard(make({{tp}}, {dp}), make({{}}), mesh), "");
  EXPECT_EQ(
      canReshard(make({{tp}}, {tpMinor, dp}), make({{}}, {tpMinor}), mesh), "");
  EXPECT_EQ(canReshard(make({{}}), make({{}, {}}), mesh),
            "cannot reshard 1 dimensions to 2");
  EXPECT_EQ(canReshard(make({{}}, {dp}), make({{}}, {fsdp}), mesh),
            "cannot make a value partial: sum over \"fsdp\" is not in the "
            "source [{}], partial = sum {\"dp\"}");
  EXPECT_EQ(
      canReshard(make({{}}, {dp}), make({{}}, {dp}, Reduction::Max), mesh),
      "cannot make a value partial: max over \"dp\" is not in the "
      "source [{}], partial = sum {\"dp\"}");
}

// Contributions of a batch that is cut by fsdp first. In any order dp could be
// combined alone, and fsdp by a scatter; in this order a scatter over both
// comes before the gather over dp.
TEST_F(ReshardPlanTest, OrderIsKept) {
  Sharding from = make({{}, {}}, {fsdp, dp}), to = make({{fsdp}, {}});
  ReshardPlan plan = planReshard(from, to, {8, 8}, 32, mesh, true);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].kind, ReshardStepKind::ReduceScatter);
  EXPECT_EQ(plan[0].axes, (AxisList{fsdp, dp}));
  EXPECT_EQ(plan[1].kind, ReshardStepKind::AllGather);
  // The minor axis may go first: its pairs are subtrees.
  plan = planReshard(make({{}, {}}, {dp, fsdp}), to, {8, 8}, 32, mesh, true);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].axes, AxisList{fsdp});
  EXPECT_EQ(plan[1].kind, ReshardStepKind::AllReduce);
  // Max has no order.
  plan = planReshard(make({{}, {}}, {fsdp, dp}, Reduction::Max), to, {8, 8}, 32,
                     mesh, true);
  EXPECT_EQ(plan[0].axes, AxisList{fsdp});
}

// Groups of three are no subtrees of a tree of six: all are combined at once.
TEST(ReshardOrder, OddGroupsAreCombinedWithAll) {
  Mesh mesh({{"a", 2}, {"b", 3}});
  AxisRef a = mesh.wholeAxis(0), b = mesh.wholeAxis(1);
  Sharding from = make({{}}, {a, b}), to = make({{b}});
  ReshardPlan plan = planReshard(from, to, {12}, 8, mesh, true);
  EXPECT_EQ(plan[0].axes, (AxisList{a, b}));
  EXPECT_EQ(
      canReshard(from, make({{}}, {a}), mesh, true),
      "cannot combine [{}], partial = sum {\"a\", \"b\"} to [{}], partial "
      "= sum {\"a\"}: its order would change");
  EXPECT_EQ(canReshard(from, make({{}}, {a}), mesh), "");
  EXPECT_NE(canReshard(make({{}}, {b, a}), make({{}}, {a}), mesh, true), "");
  EXPECT_EQ(canReshard(make({{}}, {b, a}), make({{}}, {b}), mesh, true), "");
}

// Of exact elements no order is kept, whatever the planner does with others.
TEST_F(ReshardPlanTest, ExactElementsHaveNoOrder) {
  ReshardPlanner planner(mesh, /*keepsOrder=*/true);
  Sharding from = make({{}}, {fsdp, dp}), to = make({{}}, {fsdp});
  Sharding other = make({{}}, {dp});
  EXPECT_EQ(planner.canReshard(from, to, 32), "");
  EXPECT_NE(planner.canReshard(from, other, 32), "");
  EXPECT_EQ(planner.canReshard(from, other, {32, /*areExact=*/true}), "");
  EXPECT_TRUE(planner.keepsOrderOf(32));
  EXPECT_FALSE(planner.keepsOrderOf({32, true}));
  Sharding swapped = make({{}}, {dp, fsdp});
  EXPECT_EQ(planner.plan(from, swapped, {8}, {32, true}).size(), 0u);
  // Both are remembered, and not taken for each other.
  Sharding sliced = make({{fsdp}});
  EXPECT_EQ(planner.plan(from, sliced, {8}, {32, true})[0].axes,
            AxisList{fsdp});
  EXPECT_EQ(planner.plan(from, sliced, {8}, 32)[0].axes, (AxisList{fsdp, dp}));
}

TEST_F(ReshardPlanTest, PlannerRemembers) {
  ReshardPlanner planner(mesh);
  Sharding from = make({{fsdp}, {tp}}), to = make({{}, {tp}});
  const ReshardPlan &first = planner.plan(from, to, {256, 512}, 32);
  EXPECT_EQ(&first, &planner.plan(from, to, {256, 512}, 32));
  EXPECT_EQ(planner.cost(from, to, {256, 512}, 32), 65536);
  EXPECT_EQ(planner.cost(from, to, {256, 512}, 16), 32768);
  EXPECT_EQ(planner.cost(from, to, {3, 4}, 4), 1);
}

/// Executes a plan on simulated ranks.
void expectRuns(const Mesh &mesh, const Sharding &from, const Sharding &to,
                const Shape &shape) {
  Simulator simulator(mesh, shape, from);
  ReshardPlan plan = planReshard(from, to, shape, 8, mesh);
  for (const ReshardStep &step : plan)
    ASSERT_EQ(simulator.execute(step), "");
  EXPECT_EQ(simulator.check(to), "");
  EXPECT_EQ(plan.back().sharding, to);
}

TEST(ReshardPlanLimits, SubAxesWithoutCommonParts) {
  Mesh mesh({{"x", 6}, {"y", 2}});
  AxisRef x2 = mesh.wholeAxis(0).split(2).first;
  AxisRef x3 = mesh.wholeAxis(0).split(3).first;
  AxisRef y = mesh.wholeAxis(1);
  expectRuns(mesh, make({{x2}, {y}}), make({{}, {x3}}), {4, 6});
  expectRuns(mesh, make({{x2}, {}}, {y}), make({{x3}, {}}), {5, 6});
  expectRuns(mesh, make({{x2}, {}}, {y}), make({{x3}, {}}, {y}), {5, 6});
}

TEST(ReshardPlanLimits, TooManyAxesToSearch) {
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> axes = {
      {"a", 2}, {"b", 2}, {"c", 2}, {"d", 2},
      {"e", 2}, {"f", 2}, {"g", 2}, {"h", 2}};
  Mesh mesh(axes);
  AxisList all, reversed;
  for (int axis = 0; axis < 8; ++axis) {
    all.push_back(mesh.wholeAxis(axis));
    reversed.push_back(mesh.wholeAxis(7 - axis));
  }
  expectRuns(mesh, make({all, {}}), make({reversed, {}}), {300, 2});
  AxisList half(all.begin(), all.begin() + 4);
  AxisList rest(reversed.begin(), reversed.begin() + 4);
  expectRuns(mesh, make({{}, rest}, half), make({reversed, {}}), {300, 20});
}

} // namespace
