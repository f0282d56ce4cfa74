// SPDX-License-Identifier: Apache-2.0

// Machine descriptions: those in the compiler load, and whatever is wrong with
// a file is named by field and value.

#include "weft/Cost/Machine.h"

#include "gtest/gtest.h"

using namespace mlir::weft;

namespace {

/// A description that is right; tests break one field of it.
const std::string right = R"({
  "name": "m",
  "memory": {"bytes": 100, "bytes_per_s": 1e9},
  "compute": {"kernel_overhead_ns": 10, "elementwise_per_s": 1e9,
              "flops": {"f32": {"per_s": 1e9}}},
  "levels": [{"name": "a", "ranks": 4, "latency_ns": 5, "bytes_per_s": 1e9},
             {"name": "b", "latency_ns": 50, "bytes_per_s": 1e8}]
})";

std::string replaced(const std::string &from, const std::string &to) {
  std::string text = right;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_TRUE(failed(Machine::parse(text, "m.json", error)));
  return error;
}

TEST(Machine, LoadsShippedDescriptions) {
  for (llvm::StringRef name : Machine::getShippedNames()) {
    std::string error;
    auto machine = Machine::load(name, error);
    ASSERT_TRUE(succeeded(machine)) << error;
    EXPECT_EQ(machine->name, name);
  }
  EXPECT_EQ(Machine::getShippedNames().size(), 6u);
}

TEST(Machine, NamesAllMachinesWhenThereIsNone) {
  std::string error;
  EXPECT_TRUE(failed(Machine::load("h101", error)));
  EXPECT_EQ(error, "no machine 'h101': not one of b200-cluster, b200x8, "
                   "h100-cluster, h100x8, host, nvl72, and as a file: No such "
                   "file or directory");
}

TEST(Machine, ReadsFields) {
  std::string error;
  auto machine = Machine::parse(right, "m.json", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_EQ(machine->memoryBytes, 100);
  EXPECT_EQ(machine->threads, 1);
  EXPECT_TRUE(machine->levels[0].sharedLink);
  EXPECT_EQ(machine->levels[1].ranks, 0);
  EXPECT_EQ(machine->levels[1].link.latencyNs, 50);
  EXPECT_EQ(&machine->getRate("bf16"), &machine->getRate("f32"));
}

TEST(Machine, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf("{\n  \"name\": }"),
            "m.json:2:11: Invalid JSON value");
  EXPECT_EQ(errorOf("[]"),
            "m.json: 'the description' is []: expected an object");
  EXPECT_EQ(errorOf(replaced("\"name\": \"m\",", "")),
            "m.json: 'name' is missing");
  EXPECT_EQ(errorOf(replaced("\"m\"", "3")),
            "m.json: 'name' is 3: expected a string");
  EXPECT_EQ(errorOf(replaced("\"name\": \"m\"", "\"name\": \"m\", \"x\": 1")),
            "m.json: 'x' is 1: expected only the fields name, description, "
            "memory, compute, levels, axes, durations_ns");
  EXPECT_EQ(errorOf(replaced("\"bytes\": 100", "\"bytes\": 1.5")),
            "m.json: 'memory.bytes' is 1.5: expected a whole number of at "
            "least 1");
  EXPECT_EQ(errorOf(replaced("\"kernel_overhead_ns\": 10",
                             "\"kernel_overhead_ns\": -1")),
            "m.json: 'compute.kernel_overhead_ns' is -1: expected a number "
            "from 0 to 1e18");
  EXPECT_EQ(errorOf(replaced("\"f32\"", "\"f33\"")),
            "m.json: 'compute.flops.f32' is missing");
  EXPECT_EQ(errorOf(replaced("\"latency_ns\": 50", "\"latency_ns\": true")),
            "m.json: 'levels[1].latency_ns' is true: expected a number from 0 "
            "to 1e18");
  EXPECT_EQ(errorOf(replaced("\"bytes_per_s\": 1e8", "\"bytes_per_s\": 0")),
            "m.json: 'levels[1].bytes_per_s' is 0: expected a number from 1 "
            "to 1e18");
}

TEST(Machine, ChecksWhatFieldsMeanTogether) {
  EXPECT_EQ(
      errorOf(replaced("\"name\": \"b\"", "\"name\": \"b\", \"ranks\": 6")),
      "m.json: 'levels[1].ranks' is 6: expected a multiple of the level "
      "before, which has 4 ranks");
  EXPECT_EQ(errorOf(replaced("{\"per_s\": 1e9}",
                             "{\"per_s\": 1e9, \"efficiency_by_flops\": "
                             "[[10, 1], [10, 2]]}")),
            "m.json: 'compute.flops.f32.efficiency_by_flops[1]' is [10,2]: "
            "expected [size, factor] with a size above that before and a "
            "factor from 1e-6 to 1e6");
  EXPECT_EQ(errorOf(replaced("\"levels\": [",
                             "\"axes\": {\"tp\": {\"latency_ns\": 1}}, "
                             "\"levels\": [")),
            "m.json: 'axes.tp.bytes_per_s' is missing");
}

TEST(Machine, InterpolatesFactors) {
  EfficiencyTable table;
  EXPECT_EQ(table.at(5), 1);
  table.points = {{10, 0.5}, {20, 1}};
  EXPECT_EQ(table.at(0), 0.5);
  EXPECT_EQ(table.at(15), 0.75);
  EXPECT_EQ(table.at(1e9), 1);
}

TEST(Machine, ChecksNumberOfRanks) {
  std::string error;
  auto node = Machine::load("h100x8", error);
  EXPECT_EQ(node->checkRanks(8), "");
  EXPECT_EQ(node->checkRanks(16),
            "machine 'h100x8' has 8 ranks, but the mesh has 16");
  EXPECT_EQ(Machine::load("h100-cluster", error)->checkRanks(16384), "");
}

} // namespace
