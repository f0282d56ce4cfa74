// SPDX-License-Identifier: Apache-2.0

// Passes over what kernels compute, for all targets that make code.

#ifndef WEFT_CODEGEN_KERNELS_PASSES_TD
#define WEFT_CODEGEN_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

    Example: a product may be rounded together with its sum.
    ```mlir
    func.func @f(%x: f32, %y: f32, %z: f32) -> f32 {
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %0, %z : f32
      return %1 : f32
    }
    ```
    `weft-opt --weft-lower-math` makes of it:
    ```mlir
    func.func @f(%x: f32, %y: f32, %z: f32) -> f32 {
      %0 = arith.mulf %x, %y fastmath<contract> : f32
      %1 = arith.addf %0, %z fastmath<contract> : f32
      return %1 : f32
    }
    ```
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

    With `extend-only` nothing is rounded, and types stay: for CPUs that have the
    instruction. A maximum or minimum of bf16 is the upper half of that of f32, and a
    magnitude (extended, and rounded again) its bits without the sign. LLVM takes an extension for more than a shift there, and makes
    vectors of 4 of a loop that could have 16.

    Example: bf16 is the upper half of f32.
    ```mlir
    func.func @f(%x: bf16) -> f32 {
      %0 = arith.extf %x : bf16 to f32
      return %0 : f32
    }
    ```
    `weft-opt --weft-expand-bfloat` makes of it:
    ```mlir
    func.func @f(%x: bf16) -> f32 {
      %0 = arith.bitcast %x : bf16 to i16
      %1 = arith.extui %0 : i16 to i32
      %c16_i32 = arith.constant 16 : i32
      %2 = arith.shli %1, %c16_i32 : i32
      %3 = arith.bitcast %2 : i32 to f32
      return %3 : f32
    }
    ```
  }];
  let options = [
    Option<"extendOnly", "extend-only", "bool", "false",
           "bf16 becomes f32 by integer arithmetic; only conversions to it stay">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def DefineValuesPass : Pass<"weft-define-values", "::mlir::ModuleOp"> {
  let summary = "give ops of arith and math a result for all operands";
  let description = [{
    The results that docs/math.md declares: floats saturate when they become
    integers, and NaN becomes 0; a shift by the width or more shifts all bits
    out; x / 0 is a number whose bits are all set, x % 0 is x, and what overflows
    wraps around. Also expands divisions that round up or down. Everywhere before
    this pass ops of arith have these results, too: no fold of theirs may say
    otherwise, which dropping their flags (weft-check-values) sees to. Ops of
    math for which LLVM has none, as ipowi and clampf, become ops of arith.

    *Requires* scalars, as weft-outline-kernels makes them.
    *Ensures* that no op of arith has poison as a result, or traps.

    Example: what does not fit becomes the nearest number that does.
    ```mlir
    func.func @f(%x: f32) -> i32 {
      %0 = arith.fptosi %x : f32 to i32
      return %0 : i32
    }
    ```
    `weft-opt --weft-define-values` makes of it:
    ```mlir
    func.func @f(%x: f32) -> i32 {
      %0 = llvm.call_intrinsic "llvm.fptosi.sat"(%x) : (f32) -> i32
      return %0 : i32
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "fail if the module is for another target">];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def ExpandFloat8Pass : Pass<"weft-expand-float8"> {
  let summary = "convert from and to floats of 8 bits by arithmetic";
  let description = [{
    Conversions of f8E4M3FN, f8E5M2 and f8E8M0FNU become integer arithmetic on the bits of
    f32, which vectorizes. f64 is rounded to f32 before, as in ml_dtypes.

    *Requires* that nothing but arith.extf and arith.truncf computes with them.
    *Ensures* that functions of the LLVM dialect have i8 instead.

    Example: three exponents' worth of cases, and no f8.
    ```mlir
    llvm.func @f(%x: i8) -> f32 {
      %0 = arith.bitcast %x : i8 to f8E5M2
      %1 = arith.extf %0 : f8E5M2 to f32
      llvm.return %1 : f32
    }
    ```
    `weft-opt --weft-expand-float8` prints:
    ```text
    arith.extui ... : i8 to i32
    arith.select
    arith.bitcast ... : i32 to f32
    llvm.return ... : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_CODEGEN_KERNELS_PASSES_TD
