// SPDX-License-Identifier: Apache-2.0

// Whether an op of a planned program touches the bytes that its buffers say,
// as far as the op's own verifier does not see to it.

#ifndef WEFT_LIB_VERIFY_PLAN_CHECKOPS_H
#define WEFT_LIB_VERIFY_PLAN_CHECKOPS_H

#include "mlir/IR/Operation.h"

namespace mlir::weft::proof {

/// Fails with an error if `op` touches, or may touch, other bytes.
LogicalResult checkTouched(Operation *op);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_CHECKOPS_H
