// SPDX-License-Identifier: Apache-2.0

// Machine code from a module of the LLVM dialect, in parts.

#ifndef WEFT_LIB_CODEGEN_MACHINE_COMPILEPARTS_H
#define WEFT_LIB_CODEGEN_MACHINE_COMPILEPARTS_H

#include "weft/Codegen/Machine/MachineCode.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace mlir::weft {

/// The module's CPU; "native": the one that the compiler runs on.
llvm::StringRef getCPU(ModuleOp module);

/// Makes LLVM's code generator for a CPU that it knows.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(
    llvm::StringRef cpu,
    llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// Translates to LLVM IR and runs LLVM's optimizer, if the machine is one that
/// optimizes; null after an error.
std::unique_ptr<llvm::Module> optimizeModule(ModuleOp module,
                                             llvm::LLVMContext &context,
                                             llvm::TargetMachine &machine);

/// Writes into the table of a program for which processor its code is, and the
/// table's checksum. Modules without a table are left alone.
LogicalResult sealProgram(ModuleOp source, llvm::Module &module,
                          const llvm::TargetMachine &machine);

/// Makes an object file of a translated module.
void generateObject(llvm::Module &llvmModule, llvm::TargetMachine &machine,
                    llvm::SmallVectorImpl<char> &object);

/// Cuts the module into modules that link into the same program: the first has
/// the entry and all data, at most `count` others have kernels, spread by size.
std::vector<OwningOpRef<ModuleOp>> splitModule(ModuleOp module, unsigned count);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_MACHINE_COMPILEPARTS_H
