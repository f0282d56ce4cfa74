// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_ANALYSIS_MERGEEQUALOPS_H
#define WEFT_ANALYSIS_MERGEEQUALOPS_H

#include "mlir/IR/Operation.h"

namespace mlir::weft {

/// Computes once what is computed several times in the regions of `op`, as
/// upstream's CSE does, in time that is linear in the number of ops also where
/// many ops differ in their bodies alone. Says whether there was any.
bool mergeEqualOps(Operation *op);

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_MERGEEQUALOPS_H
