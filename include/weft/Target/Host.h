// SPDX-License-Identifier: Apache-2.0

// From a module of the `target` phase (LLVM dialect, made by the pipelines of
// weft/Conversion/WeftToHost/Passes.h) to machine code for a CPU.
//
//   local module --buildPlanHostPipeline-->  planned
//   --buildLowerHostPipeline--> target --emitObject--> object
//   --linkSharedLibrary--> step.so
//
// What is emitted defines the one symbol `weft_program` of weft-rt/abi.h; all
// other symbols are hidden and begin with `weft_`. The same module and options
// give the same bytes.
//
// Failures are emitted as errors at the module's location. Functions are safe
// to call from several threads for modules of different contexts.

#ifndef WEFT_TARGET_HOST_H
#define WEFT_TARGET_HOST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::weft {

struct HostOptions {
  /// The CPU as LLVM names it ("x86-64-v3", "znver5"), or "native": the one
  /// that the compiler runs on, with all of its features.
  std::string cpu = "native";
  /// The C++ compiler driver that links; found along PATH.
  std::string linker = "c++";
  /// Folder of libweft_rt.a and libweft_rt_main.a, for executables.
  std::string runtimeDir;
  /// How many threads make machine code; 0: one per hardware thread.
  unsigned numThreads = 0;
};

/// Says whether the CPU has instructions that round f32 to bf16; they are
/// expanded in the target phase if not. Emits an error if it is unknown.
FailureOr<bool> convertsBF16(ModuleOp module, const HostOptions &options);

/// One or more object files that link into one program.
using HostObjects = std::vector<llvm::SmallVector<char, 0>>;

/// Makes machine code, cut in parts that are compiled beside each other.
LogicalResult emitObjects(ModuleOp module, const HostOptions &options,
                          HostObjects &objects);

/// Makes machine code as one object file.
LogicalResult emitObject(ModuleOp module, const HostOptions &options,
                         llvm::SmallVectorImpl<char> &object);

/// Prints the optimized LLVM IR.
LogicalResult emitLLVMIR(ModuleOp module, const HostOptions &options,
                         llvm::raw_ostream &os);

/// Compiles and links a shared library. Writes `path` only if all went well.
LogicalResult linkSharedLibrary(ModuleOp module, const HostOptions &options,
                                llvm::StringRef path);

/// Compiles and links an executable with the runtime inside. Writes `path` only
/// if all went well.
LogicalResult linkExecutable(ModuleOp module, const HostOptions &options,
                             llvm::StringRef path);

/// Prints a C header that declares the program and names its arguments and
/// results by index.
LogicalResult emitHeader(ModuleOp module, llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_TARGET_HOST_H
