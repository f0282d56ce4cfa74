// SPDX-License-Identifier: Apache-2.0

// Adds up the bytes of collectives, by op and by kind and group.

#include "weft/Analysis/Traffic.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::weft;

std::optional<CollectiveKind> mlir::weft::getCollectiveKind(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.getCollectiveKind();
  return std::nullopt;
}

AxesAttr mlir::weft::getCollectiveAxes(Operation *op) {
  return cast<CollectiveOpInterface>(op).getAxesAttr();
}

FlatSymbolRefAttr mlir::weft::getCollectiveMesh(Operation *op) {
  return cast<CollectiveOpInterface>(op).getMeshAttr();
}

FlatSymbolRefAttr mlir::weft::getCollectiveChannel(Operation *op) {
  return cast<CollectiveOpInterface>(op).getChannelAttr();
}

/// Of one tensor, in a group of so many ranks.
static int64_t getReceivedBytes(CollectiveKind kind, ShapedType in,
                                ShapedType out, int64_t group) {
  bool isGather = kind == CollectiveKind::AllGather;
  int64_t full = getBufferBytes(isGather ? out : in);
  int64_t factor = kind == CollectiveKind::AllReduce ? 2 : 1;
  if (group == 1) // there are no others
    return 0;
  return kind == CollectiveKind::Permute
             ? full
             : llvm::divideCeil(factor * full * (group - 1), group);
}

int64_t mlir::weft::getReceivedBytes(Operation *op) {
  auto collective = cast<CollectiveOpInterface>(op);
  CollectiveKind kind = collective.getCollectiveKind();
  int64_t group = collective.getGroupSize();
  int64_t bytes = 0;
  for (auto [in, out] : llvm::zip(op->getOperandTypes(), op->getResultTypes()))
    bytes +=
        ::getReceivedBytes(kind, getTensorType(in), getTensorType(out), group);
  return bytes;
}

namespace {

/// A collective of any phase.
struct Move {
  CollectiveKind kind;
  AxesAttr axes;
  int64_t count, bytes;
};

/// What a weft collective moves, or a start of the planned phase.
std::optional<Move> getMove(Operation *op) {
  if (std::optional<CollectiveKind> kind = getCollectiveKind(op))
    return Move{*kind, getCollectiveAxes(op), op->getNumOperands(),
                getReceivedBytes(op)};
  auto start = dyn_cast<rt::StartOp>(op);
  if (!start)
    return std::nullopt;
  rt::CollectiveAttr collective = start.getCollective();
  AxesAttr axes = collective.getAxes();
  int64_t group =
      getNumShards(lookupMesh(op, collective.getMesh()), axes.getAxes());
  int64_t bytes = 0;
  for (auto [in, out] : llvm::zip(start.getIns(), start.getOuts()))
    bytes +=
        ::getReceivedBytes(collective.getKind(), cast<ShapedType>(in.getType()),
                           cast<ShapedType>(out.getType()), group);
  return Move{collective.getKind(), axes,
              static_cast<int64_t>(start.getIns().size()), bytes};
}

/// How often `op` runs in a step, as far as the bounds of loops are known.
int64_t countRuns(Operation *op) {
  int64_t runs = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (std::optional<llvm::APInt> trips = loop.getStaticTripCount())
      runs *= trips->getSExtValue();
  return runs;
}

} // namespace

SmallVector<TrafficEntry> mlir::weft::computeTraffic(Operation *op) {
  SmallVector<TrafficEntry> entries;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    // A module inside is another program.
    if (isa<ModuleOp>(inner) && inner != op)
      return WalkResult::skip();
    std::optional<Move> move = getMove(inner);
    if (!move)
      return WalkResult::advance();
    auto *entry = llvm::find_if(entries, [&](const TrafficEntry &other) {
      return other.kind == move->kind && other.axes == move->axes;
    });
    if (entry == entries.end()) {
      entries.push_back({move->kind, move->axes});
      entry = &entries.back();
    }
    int64_t runs = countRuns(inner);
    entry->count += runs * move->count;
    entry->bytes += runs * move->bytes;
    return WalkResult::advance();
  });
  llvm::stable_sort(entries, [](const TrafficEntry &a, const TrafficEntry &b) {
    return a.kind < b.kind;
  });
  return entries;
}
