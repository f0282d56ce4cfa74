// SPDX-License-Identifier: Apache-2.0

// Steps of the way to machine code that all targets share.

#ifndef WEFT_CODEGEN_KERNELS_PIPELINES_H
#define WEFT_CODEGEN_KERNELS_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

/// Ops of arith and math get the results that docs/math.md declares, and
/// functions their formulas. Fails for modules of another target.
void buildDefineResultsPipeline(OpPassManager &pm, llvm::StringRef target);

/// What computes with floats of 8 bits, and of bf16 if that is wanted, becomes
/// arithmetic on f32 and on integers; ops of math that LLVM has become its.
void buildExpandFloatsPipeline(OpPassManager &pm, bool expandBF16);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_PIPELINES_H
