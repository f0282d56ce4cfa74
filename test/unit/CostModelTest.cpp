// SPDX-License-Identifier: Apache-2.0

// Times against figures worked out by hand, and the same for an op on tensors
// and on buffers.

#include "weft/Cost/CostModel.h"
#include "weft/Cost/ExternalModels.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// One flop, byte, or element each ns; kernels cost 100 ns more. 4 ranks a
/// node at 2 bytes/ns, nodes at 1 byte/ns.
Machine makeMachine() {
  std::string error;
  auto machine = Machine::parse(R"({
    "name": "m",
    "memory": {"bytes_per_s": 1e9},
    "compute": {"kernel_overhead_ns": 100, "elementwise_per_s": 1e9,
      "flops": {"f32": {"per_s": 1e9},
                "bf16": {"per_s": 1e10, "efficiency_by_smallest_dim": [[1, 0.5], [100, 1]]}}},
    "levels": [
      {"name": "node", "ranks": 4, "latency_ns": 10, "latency_ns_per_step": 1,
       "bytes_per_s": 2e9, "shared_link": false},
      {"name": "net", "latency_ns": 1000, "latency_ns_per_step": 100, "bytes_per_s": 1e9}]
  })",
                                "m", error);
  EXPECT_TRUE(succeeded(machine)) << error;
  return *machine;
}

class CostModelTest : public testing::Test {
protected:
  CostModelTest() : machine(makeMachine()) {
    DialectRegistry registry;
    registerCostExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<WeftDialect, rt::WeftRTDialect, arith::ArithDialect,
                        func::FuncDialect, linalg::LinalgDialect,
                        math::MathDialect, memref::MemRefDialect,
                        scf::SCFDialect, tensor::TensorDialect>();
  }

  /// Parses ops on a mesh dp=2, fsdp=2, tp=4; returns those of @f's body.
  std::vector<Operation *> parse(const std::string &arguments,
                                 const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "weft.mesh @mesh = <[\"dp\"=2, \"fsdp\"=2, \"tp\"=4]>\n"
        "weft.channel @gather.tp on @mesh <{\"tp\"}> purpose gather\n"
        "#id = affine_map<(i) -> (i)>\n"
        "#mk = affine_map<(m, n, k) -> (m, k)>\n"
        "#kn = affine_map<(m, n, k) -> (k, n)>\n"
        "#mn = affine_map<(m, n, k) -> (m, n)>\n"
        "#aq = affine_map<(b, t, s, d, e) -> (b, t, d)>\n"
        "#ak = affine_map<(b, t, s, d, e) -> (b, s, d)>\n"
        "#av = affine_map<(b, t, s, d, e) -> (b, s, e)>\n"
        "#ao = affine_map<(b, t, s, d, e) -> (b, t, e)>\n"
        "#al = affine_map<(b, t, s, d, e) -> (b, t)>\n"
        "func.func @f(" +
            arguments + ") {\n" + body + "\nreturn }",
        &context);
    std::vector<Operation *> ops;
    if (!module) {
      ADD_FAILURE() << "does not parse";
      return ops;
    }
    auto function = *module->getOps<func::FuncOp>().begin();
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
    mesh = (*module->getOps<MeshOp>().begin()).getMesh();
    return ops;
  }

  int64_t timeOf(Operation *op) {
    return CostModel(machine, mesh).getComputeNanoseconds(op);
  }

  MLIRContext context;
  Machine machine;
  OwningOpRef<ModuleOp> module;
  MeshAttr mesh;
};

const std::string kernelBody = R"({
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = math.exp %v : f32
      %t = arith.addf %s, %s : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  })";

TEST_F(CostModelTest, Products) {
  auto ops = parse(
      "%x: tensor<8x100xf32>, %y: tensor<100x4xf32>, %u: tensor<50x100xbf16>, "
      "%v: tensor<100x50xbf16>, %a: memref<8x100xf32>, %b: memref<100x4xf32>, "
      "%c: memref<8x4xf32>",
      R"(%0 = weft.matmul %x, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf32>, tensor<100x4xf32> -> tensor<8x4xf32>
         weft_rt.gemm %a, %b into %c {indexing_maps = [#mk, #kn, #mn]}
             : memref<8x100xf32>, memref<100x4xf32> into memref<8x4xf32>
         %1 = weft.matmul %u, %v {indexing_maps = [#mk, #kn, #mn]}
             : tensor<50x100xbf16>, tensor<100x50xbf16> -> tensor<50x50xbf16>)");
  EXPECT_EQ(timeOf(ops[0]), 2 * 8 * 100 * 4 + 100);
  EXPECT_EQ(timeOf(ops[1]), timeOf(ops[0]));
  // 500000 operations at 10 / ns * (0.5 + 0.5 * 49 / 99) take 66892 ns, more
  // than 25000 bytes.
  EXPECT_EQ(timeOf(ops[2]), 66892 + 100);
}

TEST_F(CostModelTest, AttentionHasRatesOfItsOwn) {
  auto ops = parse(
      "%q: tensor<1x8x20xf32>, %b: memref<1x8x20xf32>, %l: memref<1x8xf32>, "
      "%lse: tensor<1x8xf32>",
      R"(%0, %1 = weft.attention %q, %q, %q {config = #weft.attention<scale = 0.5 : f32>,
             indexing_maps = [#aq, #ak, #av, #ao, #al]}
             : (tensor<1x8x20xf32>, tensor<1x8x20xf32>, tensor<1x8x20xf32>)
             -> (tensor<1x8x20xf32>, tensor<1x8xf32>)
         weft_rt.attention ins(%b, %b, %b) outs(%b, %l) {config = #weft.attention<scale = 0.5 : f32>,
             indexing_maps = [#aq, #ak, #av, #ao, #al], tensors = ["q", "k", "v", "out", "lse"]}
             : memref<1x8x20xf32>, memref<1x8x20xf32>, memref<1x8x20xf32>
             into memref<1x8x20xf32>, memref<1x8xf32>
         %2, %3, %4 = weft.attention_grad %q, %q, %q, %q, %lse, %q {
             config = #weft.attention<scale = 0.5 : f32>,
             indexing_maps = [#aq, #ak, #av, #ao, #al, #ao, #aq, #ak, #av]}
             : (tensor<1x8x20xf32>, tensor<1x8x20xf32>, tensor<1x8x20xf32>, tensor<1x8x20xf32>,
                tensor<1x8xf32>, tensor<1x8x20xf32>)
             -> (tensor<1x8x20xf32>, tensor<1x8x20xf32>, tensor<1x8x20xf32>))");
  machine.memoryBytesPerSecond = 1e12;
  // Two products of 8 x 8 x 20 forward, five backward.
  EXPECT_EQ(timeOf(ops[0]), 2 * 2 * 8 * 8 * 20 + 100);
  EXPECT_EQ(timeOf(ops[1]), timeOf(ops[0]));
  EXPECT_EQ(timeOf(ops[2]), 5 * 2 * 8 * 8 * 20 + 100);
  machine.attention = {{{{4, 0.1}, {8, 0.5}}}, {{{10, 0.25}, {20, 0.5}}}};
  machine.attentionGradient = {{{{8, 0.2}}}, {}};
  EXPECT_EQ(timeOf(ops[0]), 4 * 2 * 2 * 8 * 8 * 20 + 100);
  EXPECT_EQ(timeOf(ops[1]), timeOf(ops[0]));
  EXPECT_EQ(timeOf(ops[2]), 5 * 5 * 2 * 8 * 8 * 20 + 100);
}

TEST_F(CostModelTest, ProductsRunInTheTypeThatTheMachineSays) {
  machine.memoryBytesPerSecond = 1e12;
  machine.rates["tf32"].flopsPerSecond = 4e9;
  auto ops = parse("%x: tensor<8x100xf32>, %y: tensor<100x4xf32>, "
                   "%u: tensor<8x100xbf16>, %h: tensor<8x100xf16>, "
                   "%q: tensor<100x4xf8E4M3FN>, %b: tensor<100x4xbf16>",
                   R"(%0 = weft.matmul %x, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf32>, tensor<100x4xf32> -> tensor<8x4xf32>
         %1 = weft.matmul %u, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xbf16>, tensor<100x4xf32> -> tensor<8x4xf32>
         %2 = weft.matmul %u, %q {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xbf16>, tensor<100x4xf8E4M3FN> -> tensor<8x4xf32>
         %3 = weft.matmul %h, %b {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf16>, tensor<100x4xbf16> -> tensor<8x4xf32>)");
  EXPECT_EQ(timeOf(ops[0]), 6400 + 100);
  machine.runsAs["f32"] = "tf32";
  EXPECT_EQ(timeOf(ops[0]), 6400 / 4 + 100);
  // Of two types the wider; f32 where none holds both.
  EXPECT_EQ(timeOf(ops[1]), 6400 / 4 + 100);
  machine.rates["bf16"] = {6.4e9, {}, {}};
  EXPECT_EQ(timeOf(ops[2]), 1000 + 100);
  EXPECT_EQ(timeOf(ops[3]), 6400 / 4 + 100);
  // What the host widened is narrow elsewhere.
  ops[0]->setAttr("weft_rt.product_type",
                  TypeAttr::get(BFloat16Type::get(&context)));
  EXPECT_EQ(timeOf(ops[0]), 1000 + 100);
  machine.memoryBytesPerSecond = 1e8;
  // 2 bytes for each number of the operands, 4 for the result's.
  EXPECT_EQ(timeOf(ops[0]), 10 * (2 * (800 + 400) + 4 * 32) + 100);
}

TEST_F(CostModelTest, WarnsOfTypesWithoutARate) {
  parse("%x: tensor<8x100xf8E5M2>, %y: tensor<100x4xf8E5M2>",
        R"(%0 = weft.matmul %x, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf8E5M2>, tensor<100x4xf8E5M2> -> tensor<8x4xf32>
         %1 = weft.matmul %x, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf8E5M2>, tensor<100x4xf8E5M2> -> tensor<8x4xf32>)");
  std::string said;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
  warnOfUnknownRates(*module, machine);
  EXPECT_EQ(said, "machine 'm' does not say how fast products of f8 are: they "
                  "count as products of bf16");
  said.clear();
  machine.runsAs["f8"] = "f32";
  warnOfUnknownRates(*module, machine);
  EXPECT_EQ(said, "");
}

TEST_F(CostModelTest, SkinnyProductsMoveBytes) {
  auto ops = parse("%x: tensor<1x100xbf16>, %y: tensor<100x50xbf16>",
                   R"(%0 = weft.matmul %x, %y {indexing_maps = [#mk, #kn, #mn]}
             : tensor<1x100xbf16>, tensor<100x50xbf16> -> tensor<1x50xbf16>)");
  EXPECT_EQ(timeOf(ops[0]), 2 * (100 + 5000 + 50) + 100);
}

TEST_F(CostModelTest, Kernels) {
  auto ops =
      parse("%x: tensor<8xf32>, %m: memref<8xf32>",
            "%0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> " +
                kernelBody +
                "\nweft_rt.fused ins(%m : memref<8xf32>) "
                "outs(%m : memref<8xf32>) " +
                kernelBody);
  // 8 elements of 16 + 1 operations are more than 64 bytes.
  EXPECT_EQ(timeOf(ops[0]), 8 * 17 + 100);
  EXPECT_EQ(timeOf(ops[1]), timeOf(ops[0]));
}

TEST_F(CostModelTest, WhatIsTheSameForAllElementsIsComputedOnce) {
  auto ops = parse("%x: tensor<8xi32>, %k: tensor<i32>",
                   R"(%0 = linalg.generic {
           indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
                            affine_map<(i) -> (i)>],
           iterator_types = ["parallel"]}
         ins(%x, %k : tensor<8xi32>, tensor<i32>) outs(%x : tensor<8xi32>) {
         ^bb0(%a: i32, %b: i32, %o: i32):
           %p = arith.divui %b, %b : i32
           %q = arith.divui %p, %b : i32
           %r = arith.divui %a, %q : i32
           %s = arith.divui %r, %a : i32
           %t = arith.divui %s, %a : i32
           %f = arith.bitcast %t : i32 to f32
           %g = arith.bitcast %f : f32 to i32
           linalg.yield %g : i32
         } -> tensor<8xi32>)");
  // Three divisions of each element are more than 68 bytes.
  EXPECT_EQ(timeOf(ops[0]), 8 * 3 * 4 + 100);
}

TEST_F(CostModelTest, WhatIsLookedUpInOnePlaceIsTheSameForAllElements) {
  auto ops = parse("%x: tensor<8xi32>, %k: tensor<i32>, %l: tensor<8xi32>",
                   R"(%0 = linalg.generic {
           indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
           iterator_types = ["parallel"]}
         ins(%x : tensor<8xi32>) outs(%x : tensor<8xi32>) {
         ^bb0(%a: i32, %o: i32):
           %b = tensor.extract %k[] : tensor<i32>
           %p = arith.divui %b, %b : i32
           %q = arith.divui %p, %b : i32
           %r = arith.divui %a, %q : i32
           %s = arith.divui %r, %a : i32
           %t = arith.divui %s, %a : i32
           linalg.yield %t : i32
         } -> tensor<8xi32>
       %1 = linalg.generic {
           indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
           iterator_types = ["parallel"]}
         ins(%x : tensor<8xi32>) outs(%x : tensor<8xi32>) {
         ^bb0(%a: i32, %o: i32):
           %i = linalg.index 0 : index
           %b = tensor.extract %l[%i] : tensor<8xi32>
           %p = arith.divui %b, %b : i32
           %q = arith.divui %p, %a : i32
           linalg.yield %q : i32
         } -> tensor<8xi32>)");
  EXPECT_EQ(timeOf(ops[0]), 8 * 3 * 4 + 100);
  // Of what differs, two divisions and the lookup.
  EXPECT_EQ(timeOf(ops[1]), 8 * (2 * 4 + 1) + 100);
}

TEST_F(CostModelTest, ScatterAdd) {
  auto ops =
      parse("%t: tensor<64x4xf32>, %i: tensor<8xi32>, %u: tensor<8x4xf32>, "
            "%mt: memref<64x4xf32>, %mi: memref<8xi32>, %mu: memref<8x4xf32>",
            R"(%0 = weft.scatter_add %t, %i, %u {axis = 0 : i64,
           table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
           : tensor<64x4xf32>, tensor<8xi32>, tensor<8x4xf32>
         weft_rt.scatter_add %mt, %mi, %mu {axis = 0 : i64,
           table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
           : memref<64x4xf32>, memref<8xi32>, memref<8x4xf32>)");
  EXPECT_EQ(timeOf(ops[0]), 3 * 128 + 32 + 100);
  EXPECT_EQ(timeOf(ops[1]), timeOf(ops[0]));
}

TEST_F(CostModelTest, LoopsAndViews) {
  auto ops = parse("%m: memref<8xf32>", R"(
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c5 step %c1 {
      weft_rt.fused ins(%m : memref<8xf32>) outs(%m : memref<8xf32>) )" +
                                            kernelBody + R"(
    }
    %0 = weft_rt.view %m at 2 : memref<8xf32> to memref<4xf32>)");
  EXPECT_EQ(timeOf(ops[0]), 0);
  EXPECT_EQ(timeOf(ops[3]), 5 * (8 * 17 + 100));
  EXPECT_EQ(timeOf(ops[4]), 0);
}

TEST_F(CostModelTest, MeasuredDurations) {
  machine.durations["kernel #3"] = 77;
  auto ops = parse("%x: tensor<8xf32>",
                   "%0 = weft_rt.fused ins(%x : tensor<8xf32>) -> "
                   "tensor<8xf32> " +
                       kernelBody);
  ops[0]->setAttr("weft.op", StringAttr::get(&context, "kernel #3"));
  EXPECT_EQ(timeOf(ops[0]), 77);
}

TEST_F(CostModelTest, Collectives) {
  auto ops =
      parse("%x: tensor<8xf32>, %m: memref<8xf32>, %g: memref<32xf32>", R"(
    %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] {channel = @gather.tp} : (tensor<8xf32>) -> tensor<32xf32>
    %1 = weft_rt.start <all_gather, mesh = @mesh, axes = <{"tp"}>, dims = [0]>
        ins(%m : memref<8xf32>) outs(%g : memref<32xf32>) {channel = @gather.tp}
    %2 = weft.all_reduce sum %x on @mesh <{"fsdp"}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = weft.reduce_scatter sum %x on @mesh <{"dp", "tp"}> dims [0] : (tensor<8xf32>) -> tensor<1xf32>
    %4 = weft.all_to_all %x on @mesh <{"tp":(2)2}> split [0] concat [0] : (tensor<8xf32>) -> tensor<8xf32>)");
  CostModel cost(machine, mesh);
  auto time = [&](int i) { return cost.getCollectiveNanoseconds(ops[i]); };
  EXPECT_EQ(time(0), 10 + 3 + 96 / 2);
  EXPECT_EQ(time(1), time(0));
  // A ring of two ranks has two steps to sum and spread.
  EXPECT_EQ(time(2), 1000 + 2 * 100 + 32);
  // 8 ranks on 2 nodes: one step of the ring is between them, 6 are inside.
  EXPECT_EQ(time(3), 1000 + 100 + 6 * 1 + 28);
  EXPECT_EQ(time(4), 10 + 1 + 16 / 2);
  EXPECT_EQ(cost.getComputeNanoseconds(ops[0]), 0);
  // Links between nodes are shared, those in a node are each channel's own.
  EXPECT_EQ(cost.getLink(ops[2]), 1);
  EXPECT_EQ(cost.getLink(ops[3]), 1);
  EXPECT_GT(cost.getLink(ops[0]), 1);
  EXPECT_EQ(cost.getLink(ops[0]), cost.getLink(ops[1]));
}

/// 10 of 40 multiprocessors, and 4 bytes of memory for each one that is
/// received: kernels take longer by what that takes from them.
TEST_F(CostModelTest, CollectivesTakeFromComputeBesideThem) {
  auto ops = parse("%x: tensor<8xf32>, %lhs: tensor<8x100xf32>, "
                   "%rhs: tensor<100x4xf32>",
                   "%0 = weft_rt.fused ins(%x : tensor<8xf32>) -> "
                   "tensor<8xf32> " +
                       kernelBody + R"(
    %1 = weft.all_reduce sum %x on @mesh <{"fsdp"}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = weft.matmul %lhs, %rhs {indexing_maps = [#mk, #kn, #mn]}
             : tensor<8x100xf32>, tensor<100x4xf32> -> tensor<8x4xf32>)");
  // 236 + 6500 ns of compute, and 1232 ns for the sum.
  EXPECT_EQ(timeOf(ops[0]), 8 * 17 + 100);
  EXPECT_EQ(timeOf(ops[2]), 6400 + 100);
  machine.multiprocessors = 40;
  machine.levels[1].multiprocessors = 10;
  machine.levels[1].memoryBytesPerByte = 4;
  // A quarter of 1232 ns, spread over 6736 ns.
  CostModel::Slowdown slowdown = CostModel(machine, mesh).getSlowdown(ops[0]);
  EXPECT_EQ(slowdown.computePpm, 1045724);
  // 128 bytes at 1 byte / ns.
  EXPECT_EQ(slowdown.memoryPpm, 1019002);
  EXPECT_EQ(timeOf(ops[0]), 142 + 100);
  EXPECT_EQ(timeOf(ops[2]), 6693 + 100);
  // Collectives that take longer than compute take from it while it lasts.
  machine.levels[1].link.latencyNs = 1e6;
  EXPECT_EQ(CostModel(machine, mesh).getSlowdown(ops[0]).computePpm, 1333333);
  // A function that has a schedule keeps what this was made with, unless it
  // cannot be.
  Builder builder(&context);
  auto setScheduled = [&](int64_t computePpm) {
    ops[0]->getParentOp()->setAttr(
        WeftDialect::kScheduleAttr,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("machine", builder.getStringAttr("m")),
             builder.getNamedAttr("compute_slowdown_ppm",
                                  builder.getI64IntegerAttr(computePpm)),
             builder.getNamedAttr("memory_slowdown_ppm",
                                  builder.getI64IntegerAttr(1000000))}));
  };
  setScheduled(1500000);
  EXPECT_EQ(timeOf(ops[2]), 9600 + 100);
  for (int64_t wrong : {int64_t(-5), int64_t(999999), INT64_MAX}) {
    setScheduled(wrong);
    EXPECT_EQ(timeOf(ops[2]), 8533 + 100);
  }
}

TEST_F(CostModelTest, AxesWithLinksOfTheirOwn) {
  machine.axes["tp"] = {7, 0, 1e9, {}};
  machine.axes["dp"] = {3, 0, 5e8, {}};
  auto ops = parse("%x: tensor<8xf32>", R"(
    %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<32xf32>
    %1 = weft.all_reduce sum %x on @mesh <{"dp", "tp"}> : (tensor<8xf32>) -> tensor<8xf32>)");
  CostModel cost(machine, mesh);
  EXPECT_EQ(cost.getCollectiveNanoseconds(ops[0]), 7 + 96);
  EXPECT_EQ(cost.getCollectiveNanoseconds(ops[1]), 7 + 56 * 2);
}

TEST_F(CostModelTest, GroupsOfOneRank) {
  auto ops = parse("%x: tensor<8xf32>", R"(
    %0 = weft.all_reduce sum %x on @mesh <{}> : (tensor<8xf32>) -> tensor<8xf32>)");
  CostModel cost(machine, mesh);
  EXPECT_EQ(cost.getCollectiveNanoseconds(ops[0]), 0);
  EXPECT_EQ(cost.getLink(ops[0]), -1);
}

} // namespace
