// SPDX-License-Identifier: Apache-2.0

// Machine descriptions: those in the compiler load, and whatever is wrong with
// a file is named by field and value.

#include "weft/Cost/Machine.h"

#include "llvm/ADT/StringExtras.h"
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

std::string errorWithLineOf(const std::string &text) {
  std::string error;
  EXPECT_TRUE(failed(Machine::parse(text, "m.json", error)));
  return error;
}

/// The error without its line.
std::string errorOf(const std::string &text) {
  std::string error = errorWithLineOf(text);
  size_t end = error.find_first_not_of("0123456789", 7);
  if (error.substr(0, 7) == "m.json:" && end > 7 && error[end] == ':' &&
      error[end + 1] == ' ')
    error.erase(6, end - 6);
  return error;
}

TEST(Machine, LoadsShippedDescriptions) {
  for (llvm::StringRef name : Machine::getShippedNames()) {
    std::string error;
    auto machine = Machine::load(name, error);
    ASSERT_TRUE(succeeded(machine)) << error;
    EXPECT_EQ(machine->name, name);
    // Each figure says where it comes from, and each type how it runs.
    EXPECT_EQ(llvm::join(machine->unsourced, ", "), "") << name.str();
    for (llvm::StringRef type :
         {"f64", "f32", "f16", "bf16", "f8", "f4", "i8", "i32"})
      EXPECT_TRUE(machine->hasRate(type)) << name.str() << " " << type.str();
  }
  EXPECT_EQ(Machine::getShippedNames().size(), 8u);
}

TEST(Machine, NamesAllMachinesWhenThereIsNone) {
  std::string error;
  EXPECT_TRUE(failed(Machine::load("h101", error)));
  EXPECT_EQ(error, "no machine 'h101': not one of b200-cluster, b200-efa, "
                   "b200x8, h100-cluster, h100x8, h200x8, host, nvl72, and as "
                   "a file: No such "
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
  EXPECT_EQ(errorOf("{\n  \"name\": }"), "m.json:2:11: Invalid JSON value");
  EXPECT_EQ(errorOf("[]"),
            "m.json: 'the description' is []: expected an object");
  EXPECT_EQ(errorOf(replaced("\"name\": \"m\",", "")),
            "m.json: 'name' is missing");
  EXPECT_EQ(errorOf(replaced("\"m\"", "3")),
            "m.json: 'name' is 3: expected a string");
  EXPECT_EQ(errorOf(replaced("\"name\": \"m\"", "\"name\": \"m\", \"x\": 1")),
            "m.json: 'x' is 1: expected only the fields name, description, "
            "memory, compute, host_link, levels, axes, durations_ns, sources");
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

TEST(Machine, ReadsRatesOfAttention) {
  auto with = [](const std::string &rates) {
    return replaced("\"kernel_overhead_ns\"",
                    "\"attention\": " + rates + ", \"kernel_overhead_ns\"");
  };
  std::string error;
  auto machine = Machine::parse(
      with(
          R"({"forward": {"efficiency_by_keys": [[8, 0.5]]}, "gradient": {}})"),
      "m.json", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_EQ(machine->attention->byKeys.at(3), 0.5);
  EXPECT_EQ(machine->attention->byHeadSize.at(3), 1);
  EXPECT_TRUE(machine->attentionGradient.has_value());
  EXPECT_EQ(errorOf(with(R"({"forward": {}})")),
            "m.json: 'compute.attention.gradient' is missing");
  EXPECT_EQ(errorOf(with(R"({"forward": {"per_s": 1}, "gradient": {}})")),
            "m.json: 'compute.attention.forward.per_s' is 1: expected only the "
            "fields efficiency_by_keys, efficiency_by_head_size");
}

TEST(Machine, SaysOnWhichLine) {
  EXPECT_EQ(errorWithLineOf(replaced("\"m\"", "3")),
            "m.json:2: 'name' is 3: expected a string");
  EXPECT_EQ(
      errorWithLineOf(replaced("\"latency_ns\": 50", "\"latency_ns\": -1")),
      "m.json:7: 'levels[1].latency_ns' is -1: expected a number from 0 "
      "to 1e18");
  EXPECT_EQ(errorWithLineOf(replaced("\"name\": \"m\",",
                                     "\"name\": \"m\",\n\"name\": \"m\",")),
            "m.json:3: 'name' stands here for the second time");
  EXPECT_EQ(errorWithLineOf(replaced("\"latency_ns\": 50",
                                     "\"latency_ns\": 50,\n"
                                     "\"latency_n\\u0073\": 1")),
            "m.json:8: 'levels[1].latency_ns' stands here for the second time");
  // What is missing is missing in an object.
  EXPECT_EQ(errorWithLineOf(replaced("\"kernel_overhead_ns\": 10, ", "")),
            "m.json:4: 'compute.kernel_overhead_ns' is missing");
  EXPECT_EQ(errorWithLineOf(replaced("\"name\": \"m\",", "")),
            "m.json:1: 'name' is missing");
  EXPECT_EQ(errorWithLineOf("\n[]"),
            "m.json:2: 'the description' is []: expected an object");
  // Keys and texts may hold what looks like something else.
  EXPECT_EQ(errorWithLineOf(replaced("\"name\": \"m\",",
                                     "\"name\": \"\\\"{[,\",\n \"\\u0078\": "
                                     "\n [1],")),
            "m.json:4: 'x' is [1]: expected only the fields name, description, "
            "memory, compute, host_link, levels, axes, durations_ns, sources");
}

TEST(Machine, DoesNotNestDeeply) {
  EXPECT_EQ(errorOf(std::string(1000000, '[')),
            "m.json: brackets are nested deeper than 32 times");
  EXPECT_EQ(errorOf(replaced("\"m\"", "\"" + std::string(100, '[') +
                                          "\\\"\", "
                                          "\"x\": 1")),
            "m.json: 'x' is 1: expected only the fields name, description, "
            "memory, compute, host_link, levels, axes, durations_ns, sources");
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

TEST(Machine, SaysWhatIsWrongWithLinks) {
  auto withLevel = [](const std::string &fields) {
    return errorOf(
        replaced("\"latency_ns\": 50", "\"latency_ns\": 50, " + fields));
  };
  EXPECT_EQ(withLevel("\"latency_ns_per_step\": -1"),
            "m.json: 'levels[1].latency_ns_per_step' is -1: expected a number "
            "from 0 to 1e18");
  EXPECT_EQ(withLevel("\"rails\": 8"),
            "m.json: 'levels[1].rails' is 8: expected true or false");
  EXPECT_EQ(withLevel("\"tree\": {\"latency_ns\": 1}"),
            "m.json: 'levels[1].tree.bytes_per_s' is missing");
  EXPECT_EQ(withLevel("\"ring_ll\": 3"),
            "m.json: 'levels[1].ring_ll' is 3: expected an object");
  EXPECT_EQ(withLevel("\"nvls\": {\"latency_ns\": 1, \"bytes_per_s\": 1}"),
            "m.json: 'levels[1].nvls.collectives' is missing");
  EXPECT_EQ(withLevel("\"nvls\": {\"latency_ns\": 1, \"bytes_per_s\": 1, "
                      "\"collectives\": [\"permute\"]}"),
            "m.json: 'levels[1].nvls.collectives[0]' is \"permute\": expected "
            "all_reduce, all_gather or reduce_scatter");
  EXPECT_EQ(withLevel("\"nvls\": {\"latency_ns\": 1, \"bytes_per_s\": 1, "
                      "\"least_ranks\": 1, \"collectives\": []}"),
            "m.json: 'levels[1].nvls.least_ranks' is 1: expected a whole "
            "number of at least 2");
  EXPECT_EQ(withLevel("\"multiprocessors\": 4"),
            "m.json: 'levels[1].multiprocessors' is 4: expected fewer than "
            "'compute.multiprocessors', which is 0");
  EXPECT_EQ(withLevel("\"memory_bytes_per_byte\": \"3\""),
            "m.json: 'levels[1].memory_bytes_per_byte' is \"3\": expected a "
            "number from 0 to 1e18");
}

TEST(Machine, SaysWhichTypeProductsRunIn) {
  auto withRunsAs = [](const std::string &fields) {
    return replaced("\"kernel_overhead_ns\": 10",
                    "\"kernel_overhead_ns\": 10, \"runs_as\": {" + fields +
                        "}");
  };
  EXPECT_EQ(errorOf(withRunsAs("\"f32\": \"tf32\"")),
            "m.json: 'compute.runs_as.f32' is \"tf32\": expected a type that "
            "'compute.flops' has a rate of");
  EXPECT_EQ(errorOf(withRunsAs("\"f9\": \"f32\"")),
            "m.json: 'compute.runs_as.f9' is \"f32\": expected only the fields "
            "f32, f64, f16, bf16, f8, f4, i8, i32");
  std::string error;
  auto machine = Machine::parse(withRunsAs("\"f8\": \"f32\""), "m.json", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_TRUE(machine->hasRate("f8"));
  EXPECT_FALSE(machine->hasRate("bf16"));
  EXPECT_EQ(machine->getRunType("f8"), "f32");
}

TEST(Machine, KnowsWhichFiguresHaveASource) {
  std::string error;
  auto withSources = [](const std::string &sources) {
    return replaced("\"name\": \"m\",",
                    "\"name\": \"m\", \"sources\": {" + sources + "},");
  };
  auto machine = Machine::parse(
      withSources("\"memory\": \"a\", \"compute\": \"b\", "
                  "\"levels[1].latency_ns\": \"c\", \"levels[0]\": \"d\""),
      "m.json", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_EQ(llvm::join(machine->unsourced, ", "), "levels[1].bytes_per_s");
  EXPECT_EQ(machine->sources.at("memory"), "a");
  EXPECT_EQ(errorOf(withSources("\"memory.byte\": \"a\"")),
            "m.json: 'sources.memory.byte' is \"a\": expected a text that says "
            "where the figures of a field of this name come from");
  EXPECT_EQ(errorOf(withSources("\"memory\": \"\"")),
            "m.json: 'sources.memory' is \"\": expected a text that says where "
            "the figures of a field of this name come from");
  EXPECT_EQ(errorOf(withSources("\"memory\": 3")),
            "m.json: 'sources.memory' is 3: expected a string");
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
