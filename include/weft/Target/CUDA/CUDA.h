// SPDX-License-Identifier: Apache-2.0

// NVIDIA's GPUs: kernels are PTX, in one image per program, and where there is
// a ptxas, machine code in another one. The options of #weft.target<"cuda"> are
// `arch`, as in "sm_90" (docs/cuda.md has the list), `cubin`, and `cpu`, for
// the entry; see weft/Codegen/Machine/MachineCode.h.

#ifndef WEFT_TARGET_CUDA_CUDA_H
#define WEFT_TARGET_CUDA_CUDA_H

namespace mlir::weft {

void registerCUDATarget();

} // namespace mlir::weft

#endif // WEFT_TARGET_CUDA_CUDA_H
