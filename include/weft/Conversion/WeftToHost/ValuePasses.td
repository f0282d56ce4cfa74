// SPDX-License-Identifier: Apache-2.0

// The passes that say what elements are where CPUs differ, or have no such type.

#ifndef WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_TD
#define WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_TD

include "mlir/Pass/PassBase.td"

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
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def ExpandFloat8Pass : Pass<"weft-expand-float8"> {
  let summary = "convert from and to floats of 8 bits by arithmetic";
  let description = [{
    Conversions of f8E4M3FN and f8E5M2 become integer arithmetic on the bits of
    f32, which vectorizes. f64 is rounded to f32 before, as in ml_dtypes.

    *Requires* that nothing but arith.extf and arith.truncf computes with them.
    *Ensures* that functions of the LLVM dialect have i8 instead.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_TD
