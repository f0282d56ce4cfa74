// SPDX-License-Identifier: Apache-2.0

// The proofs that follow sums through the ranks: partitioning, and the order of
// each sum.

#ifndef WEFT_VERIFY_SUMS_PASSES_H
#define WEFT_VERIFY_SUMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Verify/Sums/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Verify/Sums/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_VERIFY_SUMS_PASSES_H
