// SPDX-License-Identifier: Apache-2.0

// The formulas of quantization on one number, each one op until code is made of
// it: passes and proofs go through all ops of kernels.

#ifndef WEFT_DIALECT_WEFT_IR_FORMULAOPS_TD
#define WEFT_DIALECT_WEFT_IR_FORMULAOPS_TD

include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/WeftBase.td"

def Weft_Float8 : AnyTypeOf<[F8E4M3FN, F8E5M2]>;

class Weft_ScaleFormula<string mnemonic> : Weft_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
}

def Weft_MultiplierOfOp : Weft_ScaleFormula<"multiplier_of"> {
  let summary = "what the elements of a block are multiplied with";
  let description = [{
    The `multiplier` of weft.block_scale with scales of type `scale`, for one
    block.

    Constraints:
    1. (c1) types go together as those of weft.block_scale do.

    Example:
    ```mlir
    func.func @f(%a: f32) -> f32 {
      %0 = weft.multiplier_of %a {element = f8E4M3FN, scale = f8E8M0FNU}
      return %0 : f32
    }
    ```
  }];
  let arguments = (ins F32:$amax, Optional<F32>:$tensor_amax, TypeAttr:$element,
                       TypeAttr:$scale, UnitAttr:$power_of_two);
  let results = (outs F32:$result);
  let assemblyFormat = "$amax (`of` $tensor_amax^)? attr-dict";
}

def Weft_ScaleOfOp : Weft_ScaleFormula<"scale_of"> {
  let summary = "the scale of a block";
  let description = [{
    The `scale` of weft.block_scale, for one block.

    Constraints:
    1. (c1) types go together as those of weft.block_scale do.

    Example:
    ```mlir
    func.func @f(%a: f32) -> f8E8M0FNU {
      %0 = weft.scale_of %a {element = f8E4M3FN} : f8E8M0FNU
      return %0 : f8E8M0FNU
    }
    ```
  }];
  let arguments = (ins F32:$amax, Optional<F32>:$tensor_amax, TypeAttr:$element,
                       UnitAttr:$power_of_two);
  let results = (outs AnyFloat:$scale);
  let assemblyFormat = [{
    $amax (`of` $tensor_amax^)? attr-dict `:` type($scale)
  }];
}

def Weft_RoundF8Op : Weft_Op<"round_f8", [Pure]> {
  let summary = "a number in the range of a float of 8 bits, rounded to it";
  let description = [{
    The cast of weft.quantize to f8E4M3FN or f8E5M2, of one product.

    Example:
    ```mlir
    func.func @f(%x: f32) -> f8E4M3FN {
      %0 = weft.round_f8 %x : f8E4M3FN
      return %0 : f8E4M3FN
    }
    ```
  }];
  let arguments = (ins F32:$product);
  let results = (outs Weft_Float8:$result);
  let assemblyFormat = "$product attr-dict `:` type($result)";
}

def Weft_RoundF4Op : Weft_Op<"round_f4", [Pure]> {
  let summary = "the 4 bits of a number, rounded to f4E2M1FN";
  let description = [{
    The cast of weft.quantize to f4E2M1FN, of one product: its 4 bits in the low
    `half` of a byte, 0, or the high one, 1; the other half is 0. With 8 `random`
    bits it is rounded up with the probability that the product is past the
    number below it.

    Example:
    ```mlir
    func.func @f(%x: f32, %half: index, %bits: i32) -> i8 {
      %0 = weft.round_f4 %x at %half random %bits
      return %0 : i8
    }
    ```
  }];
  let arguments = (ins F32:$product, Index:$half, Optional<I32>:$random);
  let results = (outs I8:$result);
  let assemblyFormat = "$product `at` $half (`random` $random^)? attr-dict";
}

def Weft_DecodeOp : Weft_Op<"decode", [Pure]> {
  let summary = "the number that a scale or the bits of f4E2M1FN stand for";
  let description = [{
    What f8E8M0FNU stands for, or f4E2M1FN in the low `half` of a byte, 0, or the
    high one, 1.

    Constraints:
    1. (c1) a byte has a `half`, f8E8M0FNU has none.

    Example:
    ```mlir
    func.func @f(%s: f8E8M0FNU, %two: i8, %half: index) -> (f32, f32) {
      %0 = weft.decode %s : f8E8M0FNU
      %1 = weft.decode %two at %half : i8
      return %0, %1 : f32, f32
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[F8E8M0FNU, I8]>:$value,
                       Optional<Index>:$half);
  let results = (outs F32:$result);
  let assemblyFormat = "$value (`at` $half^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Weft_MixBitsOp : Weft_Op<"mix_bits", [Pure]> {
  let summary = "a bijection of 32 bits that mixes them";
  let description = [{
    What random bits are made with, as docs/quantization.md has it.

    Example:
    ```mlir
    func.func @f(%x: i32) -> i32 {
      %0 = weft.mix_bits %x
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$value attr-dict";
}

def Weft_RandomBitsOp : Weft_Op<"random_bits", [Pure]> {
  let summary = "8 random bits that follow from two keys and an index";
  let description = [{
    Those of the element with this index, as docs/quantization.md has it: 0 to
    255.

    Example:
    ```mlir
    func.func @f(%first: i32, %second: i32, %i: i32) -> i32 {
      %0 = weft.random_bits %first, %second, %i : i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins I32:$first, I32:$second, AnyTypeOf<[I32, I64]>:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "$first `,` $second `,` $index attr-dict `:` type($index)";
}

def Weft_PlaceOp : Weft_Op<"place", [Pure]> {
  let summary = "the row-major index of an element";
  let description = [{
    The index of the element at `indices` in a tensor of `sizes`, all of it in
    the result's type.

    Constraints:
    1. (c1) there is an index for each size, and at least one.

    Example:
    ```mlir
    func.func @f(%i: index, %j: index) -> i32 {
      %0 = weft.place %i, %j of [4, 16] : i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$indices, DenseI64ArrayAttr:$sizes);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$indices `of` $sizes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_WEFT_IR_FORMULAOPS_TD
