// SPDX-License-Identifier: Apache-2.0

// What a balanced ring is worth. With a causal mask the last of n ranks has
// n - 1/2 blocks of queries and keys to do, and the mean is n / 2. A block has
// four parts then, each with sums of its own.
//
// Worked example. 8 ranks with 4,096 queries each, of 32 heads with 128 bf16:
// the last rank spares 7/15 of its time, and gets half of the queries, keys and
// values, and of the outputs another rank had computed: 64 MiB.

#include "RingBalance.h"

using namespace mlir;
using namespace mlir::weft;

bool mlir::weft::canBalance(const Ring &ring) {
  const AttentionAttr config = ring.shape.config;
  return ring.isAligned && config.getRight() && !config.getLeft() &&
         ring.pieceKeys % 2 == 0;
}

static int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// What is exchanged, half of each: what has queries, and the rank's own keys
/// and values. Their gradients travel anyway.
static SmallVector<Value> getExchanged(const Ring &ring) {
  SmallVector<Value> values = {ring.k, ring.v};
  AffineExpr query =
      getAffineDimExpr(ring.shape.getQuery(), ring.op->getContext());
  for (const AttentionPart &part : ring.shape.parts)
    if (part.map.getResultPosition(query))
      values.push_back(part.value);
  return values;
}

/// Asks for a permute of all that is exchanged, of which half are sent, in two.
static void addExchange(const Ring &ring, const CostModel &cost,
                        RingBalance &balance) {
  SmallVector<Value> values = getExchanged(ring);
  SmallVector<int64_t> sources;
  for (int64_t rank = 0; rank < ring.ranks; ++rank)
    sources.push_back(ring.ranks - 1 - rank);
  OpBuilder builder(ring.op->getContext());
  builder.setInsertionPointAfter(ring.op);
  auto permute = PermuteOp::create(
      builder, ring.op->getLoc(), TypeRange(ValueRange(values)), values,
      ring.mesh, ring.axes, builder.getDenseI64ArrayAttr(sources),
      FlatSymbolRefAttr());
  if (std::optional<CollectiveCost> whole = cost.getCollectiveCost(permute)) {
    balance.bytes = whole->bytes / 2;
    balance.exchangeNs =
        (whole->nanoseconds - whole->latency) / 2 + 2 * whole->latency;
  }
  permute->erase();
}

/// Each step makes the rows of queries, and those of keys, twice: they are
/// written, and read where they are added up. Of a gradient that of outputs is
/// weighed twice as well.
static int64_t getBlocksNs(const Ring &ring, const Machine &machine) {
  const bool isGradient = ring.shape.isGradient();
  int64_t bytes = getBytes(ring.op->getResult(0));
  if (isGradient)
    bytes += getBytes(ring.k) + getBytes(ring.v) +
             getBytes(cast<AttentionGradOp>(ring.op).getDout());
  double moving =
      double(2 * bytes) * 1e9 / double(machine.memoryBytesPerSecond);
  constexpr int kMoreKernels = 5; // three blocks and two sums
  return int64_t(double(ring.steps.size()) *
                 (moving + kMoreKernels * double(machine.kernelOverheadNs)));
}

RingBalance mlir::weft::weighBalance(const Ring &ring, const CostModel &cost) {
  RingBalance balance;
  addExchange(ring, cost, balance);
  balance.blocksNs = getBlocksNs(ring, cost.getMachine());
  balance.sparedNs = cost.getComputeNanoseconds(ring.op) * (ring.ranks - 1) /
                     (2 * ring.ranks - 1);
  return balance;
}
