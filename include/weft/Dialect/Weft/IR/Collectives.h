// SPDX-License-Identifier: Apache-2.0

// What collectives have in common, on tensors and on buffers: their kinds, and
// checks of the ranks that they are between.

#ifndef WEFT_DIALECT_WEFT_IR_COLLECTIVES_H
#define WEFT_DIALECT_WEFT_IR_COLLECTIVES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft {

/// Checks that `op` may stand on `axes` of the mesh that it names, and returns
/// the size of its groups.
FailureOr<int64_t> verifyGroup(Operation *op, FlatSymbolRefAttr mesh,
                               AxesAttr axes);

/// Checks that a channel, if one is named, is on the same axes, and if it
/// carries copies to or from the host's memory, that `op` is a permute.
LogicalResult verifyChannel(Operation *op, CollectiveKind kind, AxesAttr axes,
                            FlatSymbolRefAttr channel);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_COLLECTIVES_H
