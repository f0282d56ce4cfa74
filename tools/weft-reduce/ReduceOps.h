// SPDX-License-Identifier: Apache-2.0

// The pass weft-reduce-ops; what else weft-reduce can do is MLIR's.

#ifndef WEFT_REDUCE_REDUCEOPS_H
#define WEFT_REDUCE_REDUCEOPS_H

namespace mlir::weft {

/// Registers the pass that takes ops away one by one for as long as a script
/// finds the module interesting.
void registerReduceOps();

} // namespace mlir::weft

#endif // WEFT_REDUCE_REDUCEOPS_H
