// SPDX-License-Identifier: Apache-2.0

// Which ops of the scheduled phase take time, and so have a name.

#ifndef WEFT_LIB_COMMUNICATION_TIMEDOPS_H
#define WEFT_LIB_COMMUNICATION_TIMEDOPS_H

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Rules/ShardingRule.h"

namespace mlir::weft {

/// The first word of an op's name; empty for ops that take no time.
inline StringRef getTimedKind(Operation *op) {
  if (std::optional<Purpose> copy = getHostCopy(op))
    return stringifyPurpose(*copy);
  if (std::optional<CollectiveKind> kind = getCollectiveKind(op))
    return stringifyCollectiveKind(*kind);
  ComputeClass computes = getComputeClass(op);
  if (computes == ComputeClass::Contraction ||
      computes == ComputeClass::RowUpdate)
    return op->getName().stripDialect();
  return isa<rt::FusedOp>(op) ? "kernel" : "";
}

} // namespace mlir::weft

#endif // WEFT_LIB_COMMUNICATION_TIMEDOPS_H
