// SPDX-License-Identifier: Apache-2.0

// What a rank's program moves: bytes per kind of collective and group.
//
// Counted as weft_rt_traffic in abi.h says, as a rank receives them, with g
// ranks in the group: all_gather and reduce_scatter (g-1)/g of the full
// buffer, all_reduce twice that, all_to_all (g-1)/g of the local buffer,
// permute the local buffer.
//
// Worked example. `weft.all_gather %w on @mesh <{"fsdp"}> dims [0]` with
// fsdp = 4 makes a 256x64xf32 of 65536 bytes: the rank receives 49152.

#ifndef WEFT_ANALYSIS_TRAFFIC_H
#define WEFT_ANALYSIS_TRAFFIC_H

#include "weft/Dialect/Weft/IR/Collectives.h"

namespace mlir::weft {

/// Returns the kind of a weft collective, or nullopt for other ops.
std::optional<CollectiveKind> getCollectiveKind(Operation *op);

/// Returns the axes of a weft collective.
AxesAttr getCollectiveAxes(Operation *op);

/// Returns the mesh that a weft collective names.
FlatSymbolRefAttr getCollectiveMesh(Operation *op);

/// Returns the channel that a weft collective names, or null.
FlatSymbolRefAttr getCollectiveChannel(Operation *op);

/// Returns the bytes that a rank receives by a weft collective, whether its
/// results are tensors or futures.
int64_t getReceivedBytes(Operation *op);

struct TrafficEntry {
  CollectiveKind kind;
  AxesAttr axes;
  /// Operands moved.
  int64_t count = 0;
  /// Bytes that each rank receives in a step.
  int64_t bytes = 0;
};

/// Adds up what the collectives under `op` move, per kind and axes: by kind,
/// then by first appearance.
SmallVector<TrafficEntry> computeTraffic(Operation *op);

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_TRAFFIC_H
