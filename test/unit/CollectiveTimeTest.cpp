// SPDX-License-Identifier: Apache-2.0

// Times of collectives against figures worked out by hand: which links a group
// uses, how often it crosses them, and which way is the fastest.

#include "weft/Cost/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Nodes of 4 ranks at 10 bytes / ns, with a card of 1 byte / ns for each rank.
/// A step takes 1 ns in a node, 100 ns between nodes.
const std::string cluster = R"({
  "name": "m", "memory": {"bytes_per_s": 1e9},
  "compute": {"kernel_overhead_ns": 0, "elementwise_per_s": 1e9,
              "flops": {"f32": {"per_s": 1e9}}},
  "levels": [
    {"name": "node", "ranks": 4, "latency_ns": 10, "latency_ns_per_step": 1,
     "bytes_per_s": 10e9 NODE},
    {"name": "net", "latency_ns": 1000, "latency_ns_per_step": 100,
     "bytes_per_s": 1e9 NET}]
})";

class CollectiveTimeTest : public testing::Test {
protected:
  CollectiveTimeTest() {
    context.loadDialect<WeftDialect, func::FuncDialect>();
  }

  /// The time of `op`, which reads a tensor of 1024 f32 (4096 bytes), on nodes
  /// and a network with more fields.
  int64_t timeOf(const std::string &mesh, const std::string &op,
                 const std::string &node = "", const std::string &net = "") {
    std::string text = cluster;
    text.replace(text.find("NODE"), 4, node);
    text.replace(text.find("NET"), 3, net);
    std::string error;
    auto machine = Machine::parse(text, "m", error);
    if (failed(machine)) {
      ADD_FAILURE() << error;
      return -1;
    }
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        "weft.mesh @mesh = <[" + mesh +
            "]>\nfunc.func @f(%x: tensor<1024xf32>) {\n%0 = " + op +
            "\nreturn }",
        &context);
    if (!module) {
      ADD_FAILURE() << "does not parse: " << op;
      return -1;
    }
    auto function = *module->getOps<func::FuncOp>().begin();
    return CostModel(*machine, (*module->getOps<MeshOp>().begin()).getMesh())
        .getCollectiveNanoseconds(&function.getBody().front().front());
  }

  MLIRContext context;
};

const std::string rails = ", \"rails\": true";
const std::string nvls = R"(, "nvls": {"latency_ns": 5, "bytes_per_s": 10e9,
    "least_ranks": 4, "collectives": ["all_reduce", "all_gather"]})";

std::string sumOver(const std::string &axes) {
  return "weft.all_reduce sum %x on @mesh <{" + axes +
         "}> : (tensor<1024xf32>) -> tensor<1024xf32>";
}

std::string exchangeOver(const std::string &axis) {
  return "weft.all_to_all %x on @mesh <{" + axis +
         "}> split [0] concat [0] : (tensor<1024xf32>) -> tensor<1024xf32>";
}

TEST_F(CollectiveTimeTest, RingsUseTheCardsOfAllMembersOfANode) {
  const std::string mesh = "\"dp\"=2, \"tp\"=4";
  // 8 ranks: 2 * (1 * 100 + 6 * 1) ns of steps, 2 * 7 / 8 * 4096 bytes at the
  // rate of one card, or of 4.
  EXPECT_EQ(timeOf(mesh, sumOver("\"dp\", \"tp\"")), 1000 + 212 + 7168);
  EXPECT_EQ(timeOf(mesh, sumOver("\"dp\", \"tp\""), "", rails),
            1000 + 212 + 7168 / 4);
  // 2 ranks, one on each node: their own cards.
  EXPECT_EQ(timeOf(mesh, sumOver("\"dp\""), "", rails), 1000 + 200 + 4096);
  // 4 ranks, two on each node.
  EXPECT_EQ(timeOf(mesh, sumOver("\"dp\", \"tp\":(2)2"), "", rails),
            1000 + 2 * (100 + 2) + 6144 / 2);
}

TEST_F(CollectiveTimeTest, NodesLimitRailsThatAreFaster) {
  const std::string fast = ", \"rails\": true, \"ring_ll\": {\"latency_ns\": "
                           "0, \"bytes_per_s\": 40e9}";
  // 4 cards of 40 bytes / ns, and links of 10 bytes / ns in the node.
  EXPECT_EQ(timeOf("\"dp\"=2, \"tp\"=4", sumOver("\"dp\", \"tp\""), "", fast),
            12 + 717);
}

TEST_F(CollectiveTimeTest, ExchangesUseTheRanksOwnCard) {
  // 4 of 8 parts go to the other node, 512 bytes each, at 1 byte / ns; those
  // in the node move meanwhile.
  EXPECT_EQ(timeOf("\"ep\"=8", exchangeOver("\"ep\""), "", rails),
            1000 + 4 * 100 + 3 * 1 + 2048);
  EXPECT_EQ(timeOf("\"ep\"=4", exchangeOver("\"ep\""), "", rails),
            10 + 3 + 307);
  // Within a node the last part of a permute is between nodes as well.
  EXPECT_EQ(timeOf("\"cp\"=8",
                   "weft.permute %x on @mesh <{\"cp\"}> sources [-1, 0, 1, 2, "
                   "3, 4, 5, 6] : "
                   "(tensor<1024xf32>) -> tensor<1024xf32>",
                   "", rails),
            1000 + 100 + 4096);
}

TEST_F(CollectiveTimeTest, SwitchesSumWithinANode) {
  // 4096 * (1 + 1 / 4) bytes at 10 bytes / ns.
  EXPECT_EQ(timeOf("\"tp\"=4", sumOver("\"tp\""), nvls), 5 + 512);
  EXPECT_EQ(timeOf("\"tp\"=4", sumOver("\"tp\"")), 10 + 6 + 614);
  // Too few ranks, across nodes, and what switches are not said to do.
  EXPECT_EQ(timeOf("\"dp\"=2, \"tp\"=2", sumOver("\"tp\""), nvls),
            10 + 2 + 410);
  EXPECT_EQ(timeOf("\"tp\"=8", sumOver("\"tp\""), nvls),
            timeOf("\"tp\"=8", sumOver("\"tp\"")));
  const std::string scatter =
      "weft.reduce_scatter sum %x on @mesh <{\"tp\"}> dims [0] : "
      "(tensor<1024xf32>) -> tensor<256xf32>";
  EXPECT_EQ(timeOf("\"tp\"=4", scatter, nvls), 10 + 3 + 307);
  // A gather moves what it makes; here the ring is faster.
  const std::string gather =
      "weft.all_gather %x on @mesh <{\"tp\"}> dims [0] : "
      "(tensor<1024xf32>) -> tensor<4096xf32>";
  EXPECT_EQ(timeOf("\"tp\"=4", gather, nvls), 10 + 3 + 1229);
}

TEST_F(CollectiveTimeTest, TreesHaveFewSteps) {
  const std::string mesh = "\"dp\"=64, \"tp\"=4", axes = "\"dp\", \"tp\"";
  const std::string tree =
      R"(, "tree": {"latency_ns": 500, "latency_ns_per_step": 100, "bytes_per_s": 1e9})";
  const std::string inside =
      R"(, "tree": {"latency_ns": 5, "latency_ns_per_step": 1, "bytes_per_s": 5e9})";
  // Up and down 3 ranks of a node, and 6 levels of nodes.
  EXPECT_EQ(timeOf(mesh, sumOver(axes), inside, rails + tree),
            500 + 2 * (3 + 600) + 2040);
  EXPECT_EQ(timeOf(mesh, sumOver(axes), inside, rails),
            1000 + 2 * (6300 + 192) + 2040);
  const std::string scatter =
      "weft.reduce_scatter sum %x on @mesh <{\"dp\", \"tp\"}> dims [0] : "
      "(tensor<1024xf32>) -> tensor<4xf32>";
  EXPECT_EQ(timeOf(mesh, scatter, inside, rails + tree),
            1000 + 6300 + 192 + 1020);
}

TEST_F(CollectiveTimeTest, TakesTheProtocolThatIsFaster) {
  const std::string low =
      R"(, "ring_ll": {"latency_ns": 2, "latency_ns_per_step": 0, "bytes_per_s": 5e9})";
  EXPECT_EQ(timeOf("\"tp\"=2", sumOver("\"tp\""), low), 10 + 2 + 410);
  const std::string lower =
      R"(, "ring_ll": {"latency_ns": 2, "latency_ns_per_step": 0, "bytes_per_s": 9.9e9})";
  EXPECT_EQ(timeOf("\"tp\"=2", sumOver("\"tp\""), lower), 2 + 414);
}

TEST_F(CollectiveTimeTest, BandwidthDependsOnTheBytesOfTheBuffer) {
  const std::string table =
      ", \"efficiency_by_bytes\": [[4096, 0.5], [8192, 1]]";
  EXPECT_EQ(timeOf("\"tp\"=4", sumOver("\"tp\""), table), 10 + 6 + 1229);
  // A gather of as much makes 16384 bytes.
  const std::string gather =
      "weft.all_gather %x on @mesh <{\"tp\"}> dims [0] : "
      "(tensor<1024xf32>) -> tensor<4096xf32>";
  EXPECT_EQ(timeOf("\"tp\"=4", gather, table), 10 + 3 + 1229);
}

TEST_F(CollectiveTimeTest, GroupsThatCrossBlocksCountTheirSteps) {
  // Axes that blocks of 4 do not divide: groups of 3 lie on up to 2 nodes, with
  // one member alone on one of them.
  EXPECT_EQ(timeOf("\"a\"=4, \"b\"=3", sumOver("\"b\""), "", rails),
            1000 + 2 * (100 + 1) + 5461);
}

} // namespace
