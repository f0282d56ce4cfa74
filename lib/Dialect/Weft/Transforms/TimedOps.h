// SPDX-License-Identifier: Apache-2.0

// Which ops of the scheduled phase take time, and so have a name.

#ifndef WEFT_LIB_DIALECT_WEFT_TRANSFORMS_TIMEDOPS_H
#define WEFT_LIB_DIALECT_WEFT_TRANSFORMS_TIMEDOPS_H

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

namespace mlir::weft {

/// The first word of an op's name; empty for ops that take no time.
inline StringRef getTimedKind(Operation *op) {
  if (std::optional<CollectiveKind> kind = getCollectiveKind(op))
    return stringifyCollectiveKind(*kind);
  if (isa<MatmulOp>(op))
    return "matmul";
  if (isa<ScatterAddOp>(op))
    return "scatter_add";
  return isa<rt::FusedOp>(op) ? "kernel" : "";
}

} // namespace mlir::weft

#endif // WEFT_LIB_DIALECT_WEFT_TRANSFORMS_TIMEDOPS_H
