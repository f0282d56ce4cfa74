// SPDX-License-Identifier: Apache-2.0

// The passes from a planned function to a program: kernels outlined, the entry,
// the table.

#ifndef WEFT_CODEGEN_PROGRAM_PASSES_H
#define WEFT_CODEGEN_PROGRAM_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Codegen/Program/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Codegen/Program/Passes.h.inc"

/// The section of machine code that holds the program's certificate as text, so
/// that it can be read without running anything.
inline constexpr llvm::StringLiteral kCertificateSection = ".weft.certificate";

/// Adds the passes that bring what convert-weft-rt-to-llvm leaves in the entry
/// to the LLVM dialect: arithmetic, branches and loops of affine, arith, cf,
/// func and scf. Of kernels too, if they are made of these.
void buildFinishLLVMPipeline(OpPassManager &pm);

/// Adds the passes that `build` adds, to run on a module without what is in the
/// LLVM dialect already.
void addFinishEntry(OpPassManager &pm,
                    llvm::function_ref<void(OpPassManager &)> build);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_PROGRAM_PASSES_H
