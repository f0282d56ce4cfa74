// SPDX-License-Identifier: Apache-2.0

// Whether the ranks together compute what the global program says: the proof
// about partitioning, over the reals.

#ifndef WEFT_VERIFY_PARTITIONING_H
#define WEFT_VERIFY_PARTITIONING_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::weft {

/// Proves that the results of `local`, the program of a rank, are those of
/// `global`, or emits the first op that differs. Neither is changed. With
/// `unfollowed`, a global program that the proof cannot follow is no error:
/// what is in the way, such as a slice at a place that is computed from data,
/// is put there, and nothing is proved.
LogicalResult verifyPartitioning(ModuleOp global, ModuleOp local,
                                 std::string *unfollowed = nullptr);

} // namespace mlir::weft

#endif // WEFT_VERIFY_PARTITIONING_H
