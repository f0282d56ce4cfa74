// SPDX-License-Identifier: Apache-2.0

// CPUs: kernels are loops in the LLVM dialect. The one option of
// #weft.target<"host"> is `cpu`; see weft/Codegen/Machine/MachineCode.h.

#ifndef WEFT_TARGET_HOST_HOST_H
#define WEFT_TARGET_HOST_HOST_H

namespace mlir::weft {

void registerHostTarget();

} // namespace mlir::weft

#endif // WEFT_TARGET_HOST_HOST_H
