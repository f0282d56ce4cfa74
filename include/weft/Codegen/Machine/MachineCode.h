// SPDX-License-Identifier: Apache-2.0

// From a module of the LLVM dialect to machine code, and to a file. Whatever a
// program's target is, its entry runs on a CPU: this is shared by all targets.
// The CPU is the option `cpu` of #weft.target, as LLVM names it ("x86-64-v3",
// "znver5"); without it, code is for the one that the compiler runs on, with
// all of its features.
//
// What is emitted defines the one symbol `weft_program` of weft-rt/abi.h; all
// other symbols are hidden and begin with `weft_`. The same module and options
// give the same bytes. Failures are emitted as errors at the module's location.
// Functions are safe to call from several threads for modules of different
// contexts.

#ifndef WEFT_CODEGEN_MACHINE_MACHINECODE_H
#define WEFT_CODEGEN_MACHINE_MACHINECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::weft {

/// The tools that make a program, and where they are: nothing that changes what
/// it computes.
struct BuildOptions {
  /// The C++ compiler driver that links; found along PATH.
  std::string linker = "c++";
  /// Folder of libweft_rt.a and libweft_rt_main.a, for executables.
  std::string runtimeDir;
  /// How many threads make machine code; 0: one per hardware thread.
  unsigned numThreads = 0;
};

/// Checks the option `cpu` of the module's target. Emits an error if LLVM does
/// not know the CPU, or has no 64-bit code for it.
LogicalResult checkCPU(ModuleOp module);

/// Checks the options of a target that has `cpu` only.
LogicalResult checkCPUOption(ModuleOp module);

/// Says whether the module's CPU has instructions that round f32 to bf16.
bool convertsBF16(ModuleOp module);

/// One or more object files that link into one program.
using ObjectFiles = std::vector<llvm::SmallVector<char, 0>>;

/// Makes machine code, cut into parts that are compiled beside each other.
LogicalResult emitObjects(ModuleOp module, const BuildOptions &options,
                          ObjectFiles &objects);

/// Makes machine code as one object file.
LogicalResult emitObject(ModuleOp module, llvm::raw_ostream &os);

/// Prints the optimized LLVM IR.
LogicalResult emitLLVMIR(ModuleOp module, llvm::raw_ostream &os);

/// Compiles and links a shared library. Writes `path` only if all went well.
LogicalResult linkSharedLibrary(ModuleOp module, const BuildOptions &options,
                                llvm::StringRef path);

/// Compiles and links an executable with the runtime inside. Writes `path` only
/// if all went well.
LogicalResult linkExecutable(ModuleOp module, const BuildOptions &options,
                             llvm::StringRef path);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_MACHINE_MACHINECODE_H
