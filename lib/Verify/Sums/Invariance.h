// SPDX-License-Identifier: Apache-2.0

// The proof of invariance, for other proofs.

#ifndef WEFT_LIB_VERIFY_SUMS_INVARIANCE_H
#define WEFT_LIB_VERIFY_SUMS_INVARIANCE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft::proof {

/// Proves that a module that has `weft.invariance` computes what its one-rank
/// program does, bit by bit, or emits what differs. With `certifies` the module
/// gets the certificate; else nothing is changed.
LogicalResult proveInvariance(ModuleOp module, bool certifies);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_INVARIANCE_H
