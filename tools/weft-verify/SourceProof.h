// SPDX-License-Identifier: Apache-2.0

// The first step of the chain, from two dumps.

#ifndef WEFT_TOOLS_WEFT_VERIFY_SOURCEPROOF_H
#define WEFT_TOOLS_WEFT_VERIFY_SOURCEPROOF_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Proves that `canonical` is the canonical form of `source`, a user's module,
/// or emits what differs. The ops of quantization in `source` are lowered.
LogicalResult verifyFromSource(ModuleOp source, ModuleOp canonical);

} // namespace mlir::weft

#endif // WEFT_TOOLS_WEFT_VERIFY_SOURCEPROOF_H
