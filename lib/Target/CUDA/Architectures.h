// SPDX-License-Identifier: Apache-2.0

// The architectures that there is code for. LLVM ends the process where it is
// asked for one that it does not know, or for one that is newer than the
// version of PTX: nothing reaches it that this list does not have.

#ifndef WEFT_LIB_TARGET_CUDA_ARCHITECTURES_H
#define WEFT_LIB_TARGET_CUDA_ARCHITECTURES_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::weft {

struct Architecture {
  llvm::StringLiteral name;
  /// The oldest version of PTX that has it, 80 for 8.0: an older driver takes
  /// it. At least 8.0.
  unsigned ptxVersion;
};

/// The architecture of code for modules that do not name one.
inline constexpr llvm::StringLiteral kDefaultArchitecture = "sm_80";

/// The global that has the text of kernels.
inline constexpr llvm::StringLiteral kPTXImage = "weft_ptx";

/// Whether the program has machine code beside PTX, an option of the target:
/// `auto` (the default) where there is a ptxas that takes the text.
inline constexpr llvm::StringLiteral kCubinOption = "cubin";
inline constexpr llvm::StringLiteral kCubinAuto = "auto", kCubinNever = "never",
                                     kCubinAlways = "always";

/// Null if it is not known.
const Architecture *findArchitecture(llvm::StringRef name);

/// The names of all, with commas.
std::string listArchitectures();

/// The option `arch` of the module, or the default.
StringRef getArchitecture(ModuleOp module);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_ARCHITECTURES_H
