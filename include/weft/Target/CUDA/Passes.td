// SPDX-License-Identifier: Apache-2.0

// The passes from kernels to PTX.

#ifndef WEFT_TARGET_CUDA_PASSES_TD
#define WEFT_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertFloat8Pass : Pass<"weft-convert-float8", "::mlir::ModuleOp"> {
  let summary = "convert floats of 8 bits by the GPU's instructions";
  let description = [{
    From sm_90 on one instruction brings two numbers of f32 into the range of
    `f8E4M3FN` or `f8E5M2` and rounds them. It takes the place of
    `arith.truncf` of scalars that a minimum and a maximum brought into range.
    Another one widens two of these to f16: it takes the place of `arith.extf` to
    f32 and bf16. Two that follow each other in a block are one instruction.

    *Requires* a module that says its architecture (`#weft.target`), as the
    inner module `weft_device` does.
    *Ensures* that all bits stay, but those of a NaN in f32 or bf16.

    Example: one number.
    ```mlir
    module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>} {
      func.func @f(%x: f32) -> f8E4M3FN {
        %least = arith.constant -448.0 : f32
        %most = arith.constant 448.0 : f32
        %below = arith.minimumf %x, %most : f32
        %inside = arith.maximumf %below, %least : f32
        %y = arith.truncf %inside : f32 to f8E4M3FN
        return %y : f8E4M3FN
      }
    }
    ```
    `weft-opt --weft-convert-float8` prints:
    ```text
    %2 = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%cst_1, %arg0) : (f32, f32) -> i16
    %3 = arith.trunci %2 : i16 to i8
    %4 = arith.bitcast %3 : i8 to f8E4M3FN
    return %4 : f8E4M3FN
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertExpPass : Pass<"weft-convert-exp", "::mlir::ModuleOp"> {
  let summary = "compute exponentials by the GPU's instruction";
  let description = [{
    `math.exp` of an f32 becomes 2^j 2^f, where f is from -1/2 to 1/2 and
    `ex2.approx` gives its power: eight instructions, within 3 units in the last
    place. Infinities, NaN and denormals are as they are without it.

    *Ensures* that a module with `weft.invariance` stays as it is: its
    exponentials have the host's bits.

    Example: one number.
    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = math.exp %x : f32
      return %y : f32
    }
    ```
    `weft-opt --weft-convert-exp` prints:
    ```text
    %0 = llvm.call_intrinsic "llvm.nvvm.fma.rn.sat.f"(%arg0, %cst, %cst_0) : (f32, f32, f32) -> f32
    %1 = math.fma %0, %cst_2, %cst_1 : f32
    %2 = arith.subf %cst_3, %1 : f32
    %3 = math.fma %arg0, %cst_4, %2 : f32
    %4 = math.fma %arg0, %cst_5, %3 : f32
    %5 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%4) : (f32) -> f32
    ```
    and the product of that with 2^j.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect"];
}

def EmitPTXPass : Pass<"weft-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "make PTX of the device's functions";
  let description = [{
    Translates the inner module `weft_device`, which has the bodies of kernels,
    to PTX for the architecture of `#weft.target`. The text, which ends with a
    zero, becomes the global `weft_ptx`: the image of each kernel that the inner
    module has a body of (`weft_rt.image`). Without an inner module nothing
    happens.

    *Requires* that functions in the inner module are of the LLVM dialect, and
    that the module is for `cuda`.
    *Ensures* that there is no inner module.

    Example: a kernel without buffers, which does nothing.
    ```mlir
    module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>} {
      llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64)
      module @weft_device {
        llvm.func ptx_kernelcc @weft_k0() {
          llvm.return
        }
      }
    }
    ```
    `weft-opt --weft-emit-ptx` prints:
    ```text
    llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
    llvm.mlir.global internal constant @weft_ptx("... .target sm_90 ... .visible .entry weft_k0() ...
    ```
  }];
  let options = [
    Option<"deviceIR", "device-ir", "std::string", /*default=*/"",
           "also write the LLVM IR from which PTX is made to this file">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def AssemblePTXPass : Pass<"weft-assemble-ptx", "::mlir::ModuleOp"> {
  let summary = "make machine code of PTX, with ptxas";
  let description = [{
    Runs `ptxas`, of the path or of `/usr/local/cuda/bin`, on the global
    `weft_ptx`, for the architecture of `#weft.target`. The machine code becomes
    the global `weft_cubin`, and the first form of the kernels' image
    (`weft_rt.image`): a GPU that it is not for takes the PTX. The target's option
    `cubin` says what happens without ptxas, or where it fails: with `auto`, the
    default, a remark; with `always` an error. With `never` nothing is run.

    *Requires* that the module is for `cuda`.
    *Ensures* that PTX stays, and that each kernel in it has the same forms.

    Example: a kernel without buffers, which does nothing.
    ```mlir
    module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90", cubin = "never"}>} {
      llvm.mlir.global internal constant @weft_ptx(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry weft_k0() { ret; }\00")
      llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
    }
    ```
    `weft-opt --weft-assemble-ptx` prints:
    ```text
    llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
    ```
    With `cubin = "always"` that is `{weft_rt.image = [@weft_cubin, @weft_ptx]}`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_TARGET_CUDA_PASSES_TD
