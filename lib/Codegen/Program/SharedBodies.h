// SPDX-License-Identifier: Apache-2.0

// Kernels of different buffers may have the same code, as those that go
// through all elements of weights of different shapes have.

#ifndef WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H
#define WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::weft {

/// The functions of a module that kernels call.
class SharedBodies {
public:
  explicit SharedBodies(ModuleOp module) : module(module) {}

  /// Has the kernel call the function of an earlier one if its own is the same,
  /// which goes then. What is no function that calls one of its own stays.
  void share(StringRef kernel);

private:
  ModuleOp module;
  /// By their hashes.
  llvm::DenseMap<llvm::hash_code, SmallVector<LLVM::LLVMFuncOp, 1>> bodies;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H
