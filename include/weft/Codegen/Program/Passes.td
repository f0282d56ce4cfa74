// SPDX-License-Identifier: Apache-2.0

// The passes from a planned function to a program: kernels outlined, the entry, the table.

#ifndef WEFT_CODEGEN_PROGRAM_PASSES_TD
#define WEFT_CODEGEN_PROGRAM_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"weft-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "make loops of fused groups, one function each";
  let description = [{
    Each weft_rt.fused and weft_rt.scatter_add becomes the launch of a kernel
    `weft_k<N>`, a function over the range of its outermost parallel loop.
    Groups that are equal up to the places of their buffers share a kernel, and if
    none of their ops loops, up to integers of more than 16 bits, as seeds are.
    Kernels whose code is the same, on buffers of other shapes, call one function.

    *Requires* the `planned` phase.
    *Ensures* that no linalg op and no tensor is left.

    Example: the group is a loop over a range, and its launch says how long the range is.
    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%w: tensor<8xf32> {weft.name = "w"}, %g: tensor<8xf32> {weft.name = "g"})
        -> (tensor<8xf32> {weft.name = "w", weft.alias = 0 : index}) {
      %0 = weft_rt.fused ins(%w, %g : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %d = arith.subf %x, %y : f32
          linalg.yield %d : f32
        } -> tensor<8xf32>
        weft_rt.yield %r : tensor<8xf32>
      } {weft.op = "update w"}
      return %0 : tensor<8xf32>
    }
    ```
    `weft-opt --weft-plan-buffers --weft-outline-kernels` prints:
    ```text
    weft_rt.launch @weft_k0(...) over #weft_rt.host_range<extent = 8, ... {weft.op = "update w"}
    llvm.func internal @weft_k0_body(
    scf.for
    arith.subf
    llvm.func hidden @weft_k0(
    ```
  }];
  let statistics = [Statistic<"numKernels", "kernels", "kernels made">];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect"];
}

def ConvertWeftRTToLLVMPass
    : Pass<"convert-weft-rt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "make the step's entry and the program table";
  let description = [{
    The planned function becomes the entry of weft-rt/abi.h: buffers are
    addresses in the caller's memory, gemm, start, wait and launch are calls
    through the runtime's table with constant descriptors. Adds `weft_program`.

    *Requires* what weft-outline-kernels ensures.
    *Ensures* that only the LLVM dialect and scalar ops of arith, math and scf
    are left.

    Example: an entry that calls the runtime, and the table.
    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%w: tensor<8xf32> {weft.name = "w"}, %g: tensor<8xf32> {weft.name = "g"})
        -> (tensor<8xf32> {weft.name = "w", weft.alias = 0 : index}) {
      %0 = weft_rt.fused ins(%w, %g : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %d = arith.subf %x, %y : f32
          linalg.yield %d : f32
        } -> tensor<8xf32>
        weft_rt.yield %r : tensor<8xf32>
      } {weft.op = "update w"}
      return %0 : tensor<8xf32>
    }
    ```
    `weft-opt --weft-plan-buffers --weft-outline-kernels --convert-weft-rt-to-llvm` prints:
    ```text
    llvm.func hidden @weft_entry(
    llvm.call
    llvm.mlir.addressof @weft_k0
    llvm.mlir.global external constant @weft_program()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_CODEGEN_PROGRAM_PASSES_TD
