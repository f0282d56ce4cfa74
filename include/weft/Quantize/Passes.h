// SPDX-License-Identifier: Apache-2.0

// The passes of quantization: which contractions take narrow operands, and what
// its ops are made of.

#ifndef WEFT_QUANTIZE_PASSES_H
#define WEFT_QUANTIZE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Quantize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Quantize/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_QUANTIZE_PASSES_H
