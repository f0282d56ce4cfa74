// SPDX-License-Identifier: Apache-2.0

// The C header of a compiled step.

#ifndef WEFT_CODEGEN_PROGRAM_EMITHEADER_H
#define WEFT_CODEGEN_PROGRAM_EMITHEADER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::weft {

/// Prints a C header that declares the program and names its arguments and
/// results by index.
LogicalResult emitHeader(ModuleOp module, llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_PROGRAM_EMITHEADER_H
