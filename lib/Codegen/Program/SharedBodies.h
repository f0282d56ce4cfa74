// SPDX-License-Identifier: Apache-2.0

// Kernels of different buffers may have the same code, as those that go
// through all elements of weights of different shapes have, or code that
// differs in sizes alone, as casts of weights in blocks have.

#ifndef WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H
#define WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::weft {

/// The functions of a module that kernels call.
class SharedBodies {
public:
  explicit SharedBodies(ModuleOp module) : module(module) {}

  /// Has the kernel call the function of an earlier one if its own is the same
  /// but for integers, which goes then. What is no function that calls one of
  /// its own stays.
  void share(StringRef kernel);

  /// Passes the integers in which kernels differ with their calls; after all
  /// kernels.
  void passIntegers();

private:
  /// A function, and what calls it.
  struct Body {
    LLVM::LLVMFuncOp func;
    /// All that it is, but for integers, with values by their numbers.
    std::vector<uintptr_t> text;
    SmallVector<arith::ConstantOp> integers;
    SmallVector<LLVM::CallOp> calls;
    /// Of each call, what its integers are.
    std::vector<SmallVector<Attribute>> values;
  };

  class Reader;

  static bool mayDiffer(arith::ConstantOp integer, Attribute other);
  static bool canTake(const Body &body, ArrayRef<Attribute> values);
  static void passIntegers(Body &body);

  ModuleOp module;
  /// By the hashes of their texts.
  llvm::DenseMap<llvm::hash_code, std::vector<Body>> bodies;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PROGRAM_SHAREDBODIES_H
