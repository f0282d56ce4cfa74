// SPDX-License-Identifier: Apache-2.0

// Adds up the bytes of collectives, by op and by kind and group.

#include "weft/Analysis/Traffic.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

std::optional<CollectiveKind> mlir::weft::getCollectiveKind(Operation *op) {
  using Kind = std::optional<CollectiveKind>;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case([](AllGatherOp) { return CollectiveKind::AllGather; })
      .Case([](ReduceScatterOp) { return CollectiveKind::ReduceScatter; })
      .Case([](AllReduceOp) { return CollectiveKind::AllReduce; })
      .Case([](AllToAllOp) { return CollectiveKind::AllToAll; })
      .Case([](PermuteOp) { return CollectiveKind::Permute; })
      .Default([](Operation *) { return std::nullopt; });
}

StringRef mlir::weft::stringifyCollectiveKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "permute";
  }
  return "";
}

AxesAttr mlir::weft::getCollectiveAxes(Operation *op) {
  return llvm::TypeSwitch<Operation *, AxesAttr>(op)
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [](auto op) { return op.getAxesAttr(); });
}

FlatSymbolRefAttr mlir::weft::getCollectiveMesh(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [](auto op) { return op.getMeshAttr(); });
}

FlatSymbolRefAttr mlir::weft::getCollectiveChannel(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [](auto op) { return op.getChannelAttr(); });
}

WaitOp mlir::weft::getWait(Operation *op) {
  bool isStart =
      op->getNumResults() != 0 && isa<FutureType>(op->getResult(0).getType());
  return isStart ? cast<WaitOp>(*op->user_begin()) : WaitOp();
}

int64_t mlir::weft::getBufferBytes(ShapedType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  if (bits == 1)
    bits = 8;
  return llvm::divideCeil(type.getNumElements() * bits, 8);
}

int64_t mlir::weft::getReceivedBytes(Operation *op) {
  CollectiveKind kind = *getCollectiveKind(op);
  int64_t group = getNumShards(lookupMesh(op, getCollectiveMesh(op)),
                               getCollectiveAxes(op).getAxes());
  int64_t bytes = 0;
  for (auto [in, out] :
       llvm::zip(op->getOperandTypes(), op->getResultTypes())) {
    bool isGather = kind == CollectiveKind::AllGather;
    int64_t full = getBufferBytes(getTensorType(isGather ? out : in));
    int64_t factor = kind == CollectiveKind::AllReduce ? 2 : 1;
    bytes += kind == CollectiveKind::Permute
                 ? full
                 : llvm::divideCeil(factor * full * (group - 1), group);
  }
  return bytes;
}

SmallVector<TrafficEntry> mlir::weft::computeTraffic(Operation *op) {
  SmallVector<TrafficEntry> entries;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    // A module inside is another program.
    if (isa<ModuleOp>(inner) && inner != op)
      return WalkResult::skip();
    std::optional<CollectiveKind> kind = getCollectiveKind(inner);
    if (!kind)
      return WalkResult::advance();
    AxesAttr axes = getCollectiveAxes(inner);
    auto *entry = llvm::find_if(entries, [&](const TrafficEntry &other) {
      return other.kind == *kind && other.axes == axes;
    });
    if (entry == entries.end()) {
      entries.push_back({*kind, axes});
      entry = &entries.back();
    }
    entry->count += inner->getNumOperands();
    entry->bytes += getReceivedBytes(inner);
    return WalkResult::advance();
  });
  llvm::stable_sort(entries, [](const TrafficEntry &a, const TrafficEntry &b) {
    return a.kind < b.kind;
  });
  return entries;
}
