// SPDX-License-Identifier: Apache-2.0

// Whether the ranks together compute what the global program says: the proof
// about partitioning, over the reals.

#ifndef WEFT_VERIFY_PARTITIONING_H
#define WEFT_VERIFY_PARTITIONING_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::weft {

/// What of a global module the proof cannot follow, in the words of the error
/// that it would give, such as a slice at a place that is computed from data;
/// empty if it can follow all of it.
std::string findUnfollowed(ModuleOp global);

/// Proves that the results of `local`, the program of a rank, are those of
/// `global`, or emits the first op that differs. Neither is changed.
LogicalResult verifyPartitioning(ModuleOp global, ModuleOp local);

} // namespace mlir::weft

#endif // WEFT_VERIFY_PARTITIONING_H
