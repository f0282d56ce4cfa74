// SPDX-License-Identifier: Apache-2.0

// How a kernel is launched: each target has its own attribute for that.

#ifndef WEFT_DIALECT_WEFTRT_IR_LAUNCHCONFIG_TD
#define WEFT_DIALECT_WEFTRT_IR_LAUNCHCONFIG_TD

include "mlir/IR/Interfaces.td"

def WeftRT_LaunchConfig : AttrInterface<"LaunchConfig"> {
  let cppNamespace = "::mlir::weft::rt";
  let description = [{
    What a launch says beside buffers and scalars: a range of iterations, a
    grid of blocks. A target gives its kernels such an attribute
    (`Target::emitKernel`); `weft_rt_launch` carries its numbers to the backend.
  }];
  let methods = [InterfaceMethod<
    "What the backend's `launch` gets, in its order.",
    "::llvm::SmallVector<int64_t>", "getNumbers", (ins)>];
}

#endif // WEFT_DIALECT_WEFTRT_IR_LAUNCHCONFIG_TD
