// SPDX-License-Identifier: Apache-2.0

// Whether a planned program computes what the scheduled one does.

#ifndef WEFT_VERIFY_PLAN_PLANNING_H
#define WEFT_VERIFY_PLAN_PLANNING_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Proves that `planned` does the work of `scheduled`, op by op in its order,
/// on buffers that hold the tensors that it takes, or emits a counterexample.
/// Both are of one context. That nothing touches what a collective works on,
/// and that updates in place are right, the proofs about `planned` alone show.
LogicalResult verifyPlanning(ModuleOp scheduled, ModuleOp planned);

} // namespace mlir::weft

#endif // WEFT_VERIFY_PLAN_PLANNING_H
