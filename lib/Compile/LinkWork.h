// SPDX-License-Identifier: Apache-2.0

// What collectives take that no order saves, and what no order knows of.

#ifndef WEFT_LIB_COMPILE_LINKWORK_H
#define WEFT_LIB_COMPILE_LINKWORK_H

#include "weft/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Nanoseconds of the busiest link of a fused module at least, where each
/// gather is done; those of several functions together.
int64_t computeLinkWork(ModuleOp fused, const Machine &machine);

/// Says whether plans of a fused module may be faster than their orders:
/// kernels that add what a reduce-scatter gives go to its channel's stream,
/// with the wait for it (AssignStreams.cpp), which may be for all of the link.
bool mayBeFasterThanOrders(ModuleOp fused);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_LINKWORK_H
