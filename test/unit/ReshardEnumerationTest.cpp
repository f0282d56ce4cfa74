// SPDX-License-Identifier: Apache-2.0

// The specification of the reshard planner: for small tensors and meshes, all
// pairs of a source (resolved or partial) and a target sharding are planned
// and executed on simulated ranks. After every step each valid element must be
// where the step's sharding says, the local shape and the bytes must be those
// that the step claims, and the last step must end in the target. The pairs
// contain permuted axes, axes swapped between dimensions, sub-axes, and sizes
// that do not divide. Some cases keep the order of contributions: then partial
// axes stand in all orders, and what arrives must be their one tree.

#include "ReshardSimulator.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

struct Case {
  const char *name;
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> mesh;
  Shape shape;
  /// The first axis is cut in sub-axes of this size, when above 1.
  int64_t subAxis = 1;
  Reduction kind = Reduction::Sum;
  bool isOrdered = false;
};

/// Names the case in messages of GoogleTest.
void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

/// The atoms that shardings are made of.
AxisList atomsOf(const Case &c, const Mesh &mesh) {
  AxisList atoms;
  for (int axis = 0; axis < mesh.numAxes(); ++axis) {
    AxisRef whole = mesh.wholeAxis(axis);
    if (axis != 0 || c.subAxis == 1) {
      atoms.push_back(whole);
      continue;
    }
    auto [major, minor] = whole.split(c.subAxis);
    atoms.push_back(major);
    atoms.push_back(minor);
  }
  return atoms;
}

/// Places the atoms from `next` on in all ways: unused, partial (last, or if
/// order matters at any position), or at any position of any dimension.
void placeAtoms(const AxisList &atoms, size_t next, Sharding current,
                bool isOrdered, std::vector<Sharding> &all) {
  if (next == atoms.size()) {
    all.push_back(current.canonical());
    return;
  }
  placeAtoms(atoms, next + 1, current, isOrdered, all);
  size_t last = current.partial.size();
  for (size_t at = isOrdered ? 0 : last; at <= last; ++at) {
    Sharding partial = current;
    partial.partial.insert(partial.partial.begin() + at, atoms[next]);
    placeAtoms(atoms, next + 1, partial, isOrdered, all);
  }
  for (size_t dim = 0; dim < current.dims.size(); ++dim)
    for (size_t at = 0; at <= current.dims[dim].size(); ++at) {
      Sharding sharded = current;
      sharded.dims[dim].insert(sharded.dims[dim].begin() + at, atoms[next]);
      placeAtoms(atoms, next + 1, sharded, isOrdered, all);
    }
}

std::vector<Sharding> allShardings(const Case &c, const Mesh &mesh) {
  std::vector<Sharding> all;
  Sharding start = Sharding::replicated(c.shape.size());
  start.kind = c.kind;
  placeAtoms(atomsOf(c, mesh), 0, start, c.isOrdered, all);
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  return all;
}

/// Plans and executes one pair. Returns what is wrong.
std::string runPair(const Mesh &mesh, const Case &c, const Sharding &from,
                    const Sharding &to) {
  Simulator simulator(mesh, c.shape, from, c.isOrdered);
  Sharding last = from;
  Shape local(from.localShape(c.shape));
  ReshardPlan plan = planReshard(from, to, c.shape, 8, mesh, c.isOrdered);
  int64_t least = ReshardPlanner(mesh).costAtLeast(from, to, c.shape, 8);
  if (planBytes(plan) < least)
    return "moves " + std::to_string(planBytes(plan)) + " bytes, at least " +
           std::to_string(least) + " were expected";
  for (const ReshardStep &step : plan) {
    std::string error = simulator.execute(step);
    if (error.empty())
      error = step.sharding.validate(mesh, c.shape);
    if (error.empty())
      error = simulator.check(step.sharding);
    if (!error.empty()) {
      llvm::raw_string_ostream os(error);
      os << " in ";
      printStep(os, step, mesh);
      return error;
    }
    last = step.sharding;
    local = step.localShape;
  }
  if (last != to)
    return "ends in " + last.str(mesh);
  if (local != Shape(to.localShape(c.shape)))
    return "ends with another local shape";
  return "";
}

/// Of many pairs a change runs some, scripts/nightly all.
size_t getStride(size_t numPairs) {
  constexpr size_t kMany = 10000;
  const char *effort = std::getenv("WEFT_TEST_EFFORT");
  bool isQuick = effort && std::string(effort) == "quick";
  return isQuick && numPairs > kMany ? 7 : 1;
}

class ReshardEnumeration : public testing::TestWithParam<Case> {};

TEST_P(ReshardEnumeration, AllPairs) {
  const Case &c = GetParam();
  Mesh mesh(c.mesh);
  std::vector<Sharding> all = allShardings(c, mesh);
  size_t stride = getStride(all.size() * all.size());
  size_t pairs = 0;
  // Whatever is left out, each sharding is on both sides.
  for (auto [row, from] : llvm::enumerate(all))
    for (auto [column, to] : llvm::enumerate(all)) {
      if ((row + column) % stride != 0 ||
          !canReshard(from, to, mesh, c.isOrdered).empty())
        continue;
      ++pairs;
      ASSERT_EQ(runPair(mesh, c, from, to), "")
          << from.str(mesh) << " to " << to.str(mesh);
    }
  RecordProperty("pairs", std::to_string(pairs));
}

// clang-format off
const Case kCases[] = {
    {"Rank0", {{"a", 2}, {"b", 3}}, {}},
    {"OneAxis", {{"a", 2}}, {4, 6}},
    {"OneAxisUneven", {{"a", 3}}, {4, 5}},
    {"TwoAxes", {{"a", 2}, {"b", 2}}, {8, 4}},
    {"TwoAxesUneven", {{"a", 2}, {"b", 2}}, {5, 7}},
    {"TwoAxesEmptyChunks", {{"a", 2}, {"b", 2}}, {1, 2}},
    {"TwoAxesNoElements", {{"a", 2}, {"b", 2}}, {0, 3}},
    {"TwoAxesRank3", {{"a", 2}, {"b", 2}}, {4, 4, 4}},
    {"TwoAxesRank3Uneven", {{"a", 2}, {"b", 2}}, {3, 5, 2}},
    {"Unequal", {{"a", 2}, {"b", 3}}, {6, 12}},
    {"UnequalUneven", {{"a", 2}, {"b", 3}}, {7, 4}},
    {"UnequalRank3", {{"a", 2}, {"b", 3}}, {6, 6, 6}},
    {"UnequalMax", {{"a", 2}, {"b", 3}}, {6, 7}, 1, Reduction::Max},
    {"SubAxes", {{"a", 4}}, {8, 4}, 2},
    {"SubAxesUneven", {{"a", 4}}, {6, 3}, 2},
    {"SubAxesAndAxis", {{"a", 4}, {"b", 2}}, {8, 8}, 2},
    {"SubAxesAndAxisUneven", {{"a", 4}, {"b", 2}}, {6, 9}, 2},
    {"ThreeAxesRank1", {{"a", 2}, {"b", 2}, {"c", 2}}, {16}},
    {"ThreeAxesRank1Uneven", {{"a", 2}, {"b", 2}, {"c", 2}}, {13}},
    {"ThreeAxes", {{"a", 2}, {"b", 2}, {"c", 2}}, {8, 8}},
    {"ThreeAxesUneven", {{"a", 2}, {"b", 2}, {"c", 2}}, {5, 6}},
    {"ThreeAxesRank3", {{"a", 2}, {"b", 2}, {"c", 2}}, {8, 4, 4}},
    {"ThreeAxesRank3Uneven", {{"a", 2}, {"b", 2}, {"c", 2}}, {3, 5, 2}},
    {"OrderedTwoAxes", {{"a", 2}, {"b", 2}}, {8, 4}, 1, Reduction::Sum, true},
    {"OrderedTwoAxesUneven", {{"a", 2}, {"b", 2}}, {5, 7}, 1, Reduction::Sum, true},
    {"OrderedUnequal", {{"a", 2}, {"b", 3}}, {6, 12}, 1, Reduction::Prod, true},
    {"OrderedUnequalUneven", {{"a", 3}, {"b", 4}}, {7, 4}, 1, Reduction::Sum, true},
    {"OrderedSubAxes", {{"a", 4}, {"b", 2}}, {8, 8}, 2, Reduction::Sum, true},
    {"OrderedThreeAxes", {{"a", 2}, {"b", 3}, {"c", 2}}, {12, 8}, 1, Reduction::Sum, true},
    {"FourAxesRank1", {{"a", 2}, {"b", 2}, {"c", 3}, {"d", 2}}, {24}},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, ReshardEnumeration, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
