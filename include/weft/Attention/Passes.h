// SPDX-License-Identifier: Apache-2.0

// The passes that find attention in what users wrote, and cut it in pieces.

#ifndef WEFT_ATTENTION_PASSES_H
#define WEFT_ATTENTION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Attention/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Attention/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_ATTENTION_PASSES_H
