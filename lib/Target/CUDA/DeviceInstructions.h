// SPDX-License-Identifier: Apache-2.0

// What the device does in fewer instructions than the code that is for all
// targets.

#ifndef WEFT_LIB_TARGET_CUDA_DEVICEINSTRUCTIONS_H
#define WEFT_LIB_TARGET_CUDA_DEVICEINSTRUCTIONS_H

namespace llvm {
class Module;
}

namespace mlir::weft {

/// Marks where integer arithmetic rounds f32 to bf16 (what ExpandBfloat
/// writes), before LLVM's optimizer makes something else of it. What is marked
/// is code again after useDeviceInstructions.
void markRoundings(llvm::Module &module);

/// After LLVM's optimizer, where magnitudes are far from the ends of the range:
/// quotients by one divisor are products with its inverse and corrections that
/// make them those of IEEE 754, and bf16 is rounded by the instruction for it.
/// All bits stay if `areBitsKept`; else a NaN of bf16 is the device's, and
/// quotients that are rounded to bf16 need not be those of IEEE 754.
void useDeviceInstructions(llvm::Module &module, bool areBitsKept);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_DEVICEINSTRUCTIONS_H
