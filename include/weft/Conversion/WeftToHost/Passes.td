// SPDX-License-Identifier: Apache-2.0

// The passes from a local module to CPU code, in pipeline order.

#ifndef WEFT_CONVERSION_WEFTTOHOST_PASSES_TD
#define WEFT_CONVERSION_WEFTTOHOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareHostPass : Pass<"weft-prepare-host", "::mlir::ModuleOp"> {
  let summary = "bring a local module into the few forms that fusion knows";
  let description = [{
    Turns everything that computes elementwise or reduces into linalg.generic
    (lookups and the scatters that hit each element once among them), drops
    dims of size 1, moves transposes into the maps of contractions, also from
    behind collectives, and what alone is used of a contraction's result, its
    rounding to bf16, into the contraction.

    *Requires* a module of the `local` phase with one public function.
    *Ensures* that tensors are computed by linalg.generic, linalg.fill,
    weft.matmul, weft.scatter_add, collectives, and ops that only move or
    reshape.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def FuseHostPass : Pass<"weft-fuse-host", "::mlir::ModuleOp"> {
  let summary = "group linalg ops into the kernels that run them";
  let description = [{
    Fuses elementwise producers into their consumers, then groups what walks the
    same rows: a reduction over a row, what feeds it, and what uses its result
    again on that row (softmax, norms, cross-entropy) are one kernel, and so are
    ops that read the same operands over the same space (the parts of an
    optimizer update). Values that live only inside a group never reach memory.
    What goes into a concatenation is computed in the shape that it has there,
    and apart from what others use of it, so that it can be computed in place.
    A value that leaves a group waits for no later collective than it would by
    itself: updates of weights whose gradients come one after the other are
    kernels of their own.

    *Requires* the form that weft-prepare-host ensures.
    *Ensures* that each linalg op is inside a weft_rt.fused.
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "fused groups made">,
    Statistic<"numFused", "fused", "linalg ops that share a group">];
  let dependentDialects = ["::mlir::weft::rt::WeftRTDialect"];
}

def PlanBuffersPass : Pass<"weft-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "give every tensor its place in memory";
  let description = [{
    Turns tensors into buffers: results are computed where the caller wants
    them, donated arguments and dead temporaries are updated in place, reshapes
    and slices are views, and all else gets an offset in one arena, by
    lifetimes: two buffers that are alive at the same time never overlap. See
    the description of the weft_rt dialect for the form.

    *Requires* the form that weft-fuse-host ensures.
    *Ensures* the `planned` phase: no tensors outside of weft_rt.fused, no
    allocation. The function has no arguments and results; its attributes
    `weft_rt.args`, `weft_rt.results` and `weft_rt.arena_bytes` keep what the
    program table says. `weft_rt.arena_bound` is the most bytes of the arena that
    are alive at one time: no plan of these lifetimes needs fewer.
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"arenaBound", "arena-bound", "bytes of it that are alive at once">,
    Statistic<"numCopies", "copies", "buffers copied">];
  let dependentDialects = [
    "::mlir::memref::MemRefDialect", "::mlir::weft::rt::WeftRTDialect"];
}

def CheckMemoryPass : Pass<"weft-check-memory", "::mlir::ModuleOp"> {
  let summary = "hold a plan to a limit of memory";
  let description = [{
    Fails if a rank needs more than `limit` bytes for arguments, results and
    arena together; notes name the largest buffers at the peak.

    *Requires* the `planned` phase.
    *Ensures* that the step fits; changes nothing.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"0",
           "bytes that a rank may use; 0 is no limit">];
}

def OutlineKernelsPass : Pass<"weft-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "make loops of fused groups, one function each";
  let description = [{
    Each weft_rt.fused and weft_rt.scatter_add becomes the launch of a kernel
    `weft_k<N>`, a function over the range of its outermost parallel loop.
    Groups that are equal up to the places of their buffers share a kernel.

    *Requires* the `planned` phase.
    *Ensures* that no linalg op and no tensor is left.
  }];
  let statistics = [Statistic<"numKernels", "kernels", "kernels made">];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect"];
}

def LowerMathPass : Pass<"weft-lower-math", "::mlir::ModuleOp"> {
  let summary = "expand functions into polynomials that vectorize";
  let description = [{
    Functions of f32, and some of f64, become formulas with stated error bounds
    (docs/math.md). Others stay for the C library; in a module with
    `weft.invariance` they are an error, for its bits differ between machines.
    Lets the sums and products that a loop carries be taken in another order, so
    that they can be vectorized (reassoc), and f32 and f64 products be rounded
    together with the sum that they go into (contract). No other fast-math flag
    is set: NaN, infinities and the signs of zeros are what arith says. Formulas
    have no flag at all, nor has anything in a module with `weft.invariance`:
    each op rounds by itself.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def ExpandBfloatPass : Pass<"weft-expand-bfloat"> {
  let summary = "round to bf16 by integer arithmetic";
  let description = [{
    For CPUs that have no instruction for it, and where all CPUs are to give the
    same bits: the instruction takes denormals as zeros.

    *Requires* that nothing but arith.extf and arith.truncf computes with bf16.
    *Ensures* that functions of the LLVM dialect have i16 instead of bf16.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
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
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_CONVERSION_WEFTTOHOST_PASSES_TD
