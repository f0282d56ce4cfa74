// SPDX-License-Identifier: Apache-2.0

// A planned step against a timeline worked out by hand: slices, memory, bound,
// trace.

#include "weft/Simulate/Simulate.h"

#include "weft/Cost/ExternalModels.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Simulate/Durations.h"
#include "weft/Simulate/Trace.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// A kernel or product of n operations takes n ns, a collective of n bytes that
/// arrive 10 + n ns.
Machine makeMachine(bool isShared) {
  std::string error;
  auto machine = Machine::parse(std::string(R"({
    "name": "m",
    "memory": {"bytes_per_s": 1e18},
    "compute": {"kernel_overhead_ns": 0, "elementwise_per_s": 1e9,
                "flops": {"f32": {"per_s": 1e9}}},
    "levels": [{"name": "a", "latency_ns": 10, "bytes_per_s": 1e9,
                "shared_link": )") + (isShared ? "true" : "false") +
                                    "}]}",
                                "m", error);
  EXPECT_TRUE(succeeded(machine)) << error;
  return *machine;
}

/// Products of 2 * 4 * 4 * 4 = 128 ns, collectives of 64 bytes to each of two
/// ranks: gathers of 32 bytes take 42 ns.
const char *const step = R"mlir(
weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather on @mesh <{"fsdp"}> purpose gather
weft.channel @reduce on @mesh <{"fsdp"}> purpose reduce
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @step() attributes {weft_rt.arena_bytes = 448 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<2x4xf32>, global = tensor<2x4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<2x4xf32>, global = tensor<2x4xf32>, alias = 0, value = 0>,
        #weft_rt.tensor<name = "y", local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 0>]} {
  %w = weft_rt.buffer argument 0 : memref<2x4xf32>
  %y = weft_rt.buffer result 1 : memref<4x4xf32>
  %g = weft_rt.buffer arena 0 : memref<4x4xf32>
  %p = weft_rt.buffer arena 64 : memref<4x4xf32>
  %r = weft_rt.buffer arena 128 : memref<2x4xf32>
  %t0 = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<2x4xf32>) outs(%g : memref<4x4xf32>) {channel = @gather}
  weft_rt.gemm %y, %y into %p {indexing_maps = [#mk, #kn, #mn], weft_rt.values = array<i64: 1, 1, 3>}
      : memref<4x4xf32>, memref<4x4xf32> into memref<4x4xf32>
  weft_rt.wait %t0
  %t1 = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum, dims = [0]>
      ins(%p : memref<4x4xf32>) outs(%r : memref<2x4xf32>) {channel = @reduce, weft_rt.values = array<i64: 3, 4>}
  %t2 = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<2x4xf32>) outs(%g : memref<4x4xf32>) {channel = @gather}
  weft_rt.wait %t1
  weft_rt.wait %t2
  return
}
)mlir";

class SimulateTest : public testing::Test {
protected:
  SimulateTest() {
    DialectRegistry registry;
    registerCostExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<WeftDialect, rt::WeftRTDialect, arith::ArithDialect,
                        affine::AffineDialect, func::FuncDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
    context.allowUnregisteredDialects();
  }

  Simulation run(const std::string &text, const Machine &machine,
                 const SimulateOptions &options = {}) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    MeshAttr mesh = (*module->getOps<MeshOp>().begin()).getMesh();
    return simulate(*module->getOps<func::FuncOp>().begin(),
                    CostModel(machine, mesh), options);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

std::string print(const Slice &slice) {
  return slice.name + " " + std::to_string(slice.stream) + " " +
         std::to_string(slice.beginNs) + "-" + std::to_string(slice.endNs) +
         " flow " + std::to_string(slice.flow);
}

std::vector<std::string> print(const std::vector<Slice> &slices) {
  std::vector<std::string> lines;
  for (const Slice &slice : slices)
    lines.push_back(print(slice));
  return lines;
}

TEST_F(SimulateTest, Slices) {
  Simulation result = run(step, makeMachine(false));
  EXPECT_EQ(print(result.timeline.slices),
            (std::vector<std::string>{
                "gemm #0 0 0-128 flow -1", "all_gather #0 0 128-128 flow 0",
                "reduce_scatter #0 0 128-170 flow 1",
                "all_gather #1 0 170-170 flow 2", "all_gather #0 1 0-42 flow 0",
                "all_gather #1 1 128-170 flow 2",
                "reduce_scatter #0 2 128-170 flow 1"}));
  EXPECT_EQ(result.stepNs, 170);
  EXPECT_EQ(result.timeline.computeNs, 128);
  EXPECT_EQ(result.timeline.exposedNs, 42);
  EXPECT_EQ(result.timeline.busyNs, (std::vector<int64_t>{128, 84, 42}));
  // The product, then the sum of what it gives.
  EXPECT_EQ(result.timeline.boundNs, 170);
}

TEST_F(SimulateTest, SharedLink) {
  Simulation result = run(step, makeMachine(true));
  EXPECT_EQ(result.stepNs, 212);
  EXPECT_EQ(print(result.timeline.slices.back()),
            "reduce_scatter #0 2 128-170 flow 1");
  EXPECT_EQ(print(result.timeline.slices[5]), "all_gather #1 1 170-212 flow 2");
}

TEST_F(SimulateTest, Memory) {
  Timeline timeline = run(step, makeMachine(false)).timeline;
  EXPECT_EQ(timeline.fixedBytes, 32 + 64);
  EXPECT_EQ(timeline.arenaBytes, 448);
  EXPECT_EQ(timeline.peakBytes, 32 + 64 + 64 + 64 + 32);
  ASSERT_EQ(timeline.owners.size(), 3u);
  EXPECT_EQ(timeline.owners[0].name, "arena 0");
  EXPECT_EQ(timeline.owners[0].beginNs, 0);
  EXPECT_EQ(timeline.owners[0].endNs, 170);
  // In flight until the wait.
  EXPECT_EQ(timeline.owners[1].offset, 64);
  EXPECT_EQ(timeline.owners[1].endNs, 170);
  EXPECT_EQ(timeline.owners[2].beginNs, 128);
  EXPECT_EQ(timeline.memory.front().ns, 0);
  EXPECT_EQ(timeline.memory.front().bytes, 96 + 64);
  EXPECT_EQ(timeline.memory.back().bytes, 96);
}

TEST_F(SimulateTest, SlowRanks) {
  SimulateOptions options;
  options.slowRanks = {{1, 2.0}};
  Simulation result = run(step, makeMachine(false), options);
  EXPECT_EQ(result.stepNs, 256 + 42);
  EXPECT_EQ(result.slowestRank, 0);
  EXPECT_EQ(result.numClasses, 2);
  // Rank 0 waits for the other: 128 + 42 ns.
  EXPECT_EQ(result.timeline.exposedNs, 170);
  options.rank = 1;
  EXPECT_EQ(run(step, makeMachine(false), options).timeline.exposedNs, 42);
}

TEST_F(SimulateTest, LoopsWithCollectivesAreUnrolled) {
  const char *loop = R"mlir(
    weft.mesh @mesh = <["fsdp"=2]>
    weft.channel @reduce on @mesh <{"fsdp"}> purpose reduce
    func.func @step() {
      %w = weft_rt.buffer argument 0 : memref<8xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c3 step %c1 {
        %t0 = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum>
            ins(%w : memref<8xf32>) outs(%w : memref<8xf32>) {channel = @reduce}
        weft_rt.wait %t0
      }
      return
    })mlir";
  EXPECT_EQ(run(loop, makeMachine(false)).stepNs, 3 * 42);
}

TEST_F(SimulateTest, Trace) {
  Timeline timeline = run(step, makeMachine(false)).timeline;
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrace(timeline, os);
  for (
      const char *line : {
          R"({"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "ts": 0.000, "args": {"name":)",
          R"({"ph": "X", "name": "gemm #0", "pid": 0, "tid": 0, "ts": 0.000, "cat": "compute", "dur": 0.128})",
          R"({"ph": "X", "name": "reduce_scatter #0", "pid": 0, "tid": 0, "ts": 0.128, "cat": "start", "dur": 0.000, )",
          R"({"ph": "s", "name": "collective", "pid": 0, "tid": 0, "ts": 0.128, "cat": "flow", "id": "0.1"})",
          R"({"ph": "X", "name": "reduce_scatter #0", "pid": 0, "tid": 2, "ts": 0.128, "cat": "collective", "dur": 0.042, "args": {"bytes": 32}})",
          R"({"ph": "f", "name": "collective", "pid": 0, "tid": 0, "ts": 0.170, "cat": "flow", "id": "0.1", "bp": "e"})",
          R"({"ph": "C", "name": "memory", "pid": 0, "tid": 0, "ts": 0.000, "args": {"bytes": 160}})",
      })
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

const char *const runTrace = R"({"traceEvents": [
    {"ph": "X", "cat": "step", "name": "step", "pid": 0, "ts": 0, "dur": 10},
    {"ph": "X", "cat": "step", "name": "step", "pid": 1, "ts": 0, "dur": 10},
    {"ph": "X", "cat": "gemm", "name": "gemm #0", "pid": 0, "ts": 1, "dur": 99},
    {"ph": "X", "cat": "gemm", "name": "gemm #0", "pid": 1, "ts": 1, "dur": 88},
    {"ph": "X", "cat": "gemm", "name": "gemm #0", "pid": 0, "ts": 11, "dur": 1.5},
    {"ph": "X", "cat": "gemm", "name": "gemm #0", "pid": 1, "ts": 11, "dur": 2},
    {"ph": "X", "cat": "collective", "name": "b", "pid": 0, "ts": 12, "dur": 2},
    {"ph": "X", "cat": "step", "name": "step", "pid": 0, "ts": 10, "dur": 10},
    {"ph": "X", "cat": "step", "name": "step", "pid": 1, "ts": 10, "dur": 10},
    {"ph": "X", "cat": "step", "name": "step", "pid": 0, "ts": 20, "dur": 10},
    {"ph": "X", "cat": "step", "name": "step", "pid": 1, "ts": 20, "dur": 10},
    {"ph": "X", "cat": "kernel", "name": "gemm #0", "pid": 0, "ts": 21, "dur": 3},
    {"ph": "X", "cat": "compute", "name": "gemm #0", "pid": 1, "ts": 21, "dur": 1},
    {"ph": "s", "name": "d"}]})";

TEST(Durations, AreThoseOfEachStepButTheFirst) {
  std::string error;
  auto durations = readDurations(runTrace, "t.json", error);
  ASSERT_TRUE(succeeded(durations)) << error;
  ASSERT_EQ(durations->steps.size(), 2u);
  ASSERT_EQ(durations->steps[1].size(), 2u);
  EXPECT_EQ(durations->steps[0][0]["gemm #0"], 1500);
  EXPECT_EQ(durations->steps[1][1]["gemm #0"], 1000);
  EXPECT_EQ(durations->means["gemm #0"], 1875);
  EXPECT_EQ(durations->means.size(), 1u);
}

TEST_F(SimulateTest, DurationsOfARun) {
  std::string error;
  auto durations = readDurations(runTrace, "t.json", error);
  ASSERT_TRUE(succeeded(durations)) << error;
  SimulateOptions options;
  options.measured = &*durations;
  Simulation result = run(step, makeMachine(false), options);
  EXPECT_EQ(result.numMeasuredSteps, 2);
  // In each step the slower rank's product, then the reduction.
  EXPECT_EQ(result.stepNs, (2000 + 3000) / 2 + 42);
  // Durations of other ranks than these: their means.
  durations->steps[0].pop_back();
  EXPECT_EQ(run(step, makeMachine(false), options).stepNs, 1875 + 42);
}

TEST(Durations, SaysWhatIsWrong) {
  auto errorOf = [](llvm::StringRef text) {
    std::string error;
    EXPECT_TRUE(failed(readDurations(text, "t.json", error)));
    return error;
  };
  EXPECT_EQ(errorOf("[]"), "t.json: has no array 'traceEvents'");
  EXPECT_EQ(errorOf(R"({"traceEvents": [3]})"),
            "t.json: event 0 is not an object");
  EXPECT_EQ(errorOf(R"({"traceEvents": [
              {"ph": "X", "cat": "compute", "name": "a", "ts": 1, "dur": -1}]})"),
            "t.json: event 0 is a slice without a name, a time or a duration "
            "of at least 0");
  EXPECT_NE(errorOf("{").find("t.json: ["), std::string::npos);
}

TEST(Bounds, AreNotAboveTheStepByRounding) {
  EXPECT_EQ(dropRounding(385'848, 385'847), 385'847);
  EXPECT_EQ(dropRounding(2'000, 1'999), 1'999);
  // More than that is no rounding, and is said.
  EXPECT_EQ(dropRounding(385'900, 385'847), 385'900);
  EXPECT_EQ(dropRounding(385'800, 385'847), 385'800);
}

} // namespace
