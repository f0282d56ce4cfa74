// SPDX-License-Identifier: Apache-2.0

// Quantization in phases that can be scheduled apart: greatest magnitudes,
// scales made of them, and casts. Data and scales are plain tensors.

#ifndef WEFT_DIALECT_WEFT_IR_QUANTIZEOPS_TD
#define WEFT_DIALECT_WEFT_IR_QUANTIZEOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"

def Weft_AmaxOp : Weft_Op<"amax", [Pure]> {
  let summary = "the greatest magnitude of each block";
  let description = [{
    `result[b] = max over the elements i of block b of |input[i]|`, in f32; NaN
    if one of them is NaN. `blocks` has a size for each dimension: blocks of
    `[1, 32]` are runs along the second dimension, `[128, 128]` are squares, and
    blocks of the whole shape give one number for the tensor.

    Gone once weft-lower-quantization has run.

    Constraints:
    1. (c1) `blocks` has a size for each dimension, which divides it.
    2. (c2) the input is f32, bf16 or f16; the result f32, with one element for
       each block.

    Example: runs of 32.
    ```mlir
    func.func @f(%x: tensor<8x64xbf16>) -> tensor<8x2xf32> {
      %0 = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
      return %0 : tensor<8x2xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$blocks);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Weft_BlockScaleOp : Weft_Op<"block_scale", [Pure]> {
  let summary = "how blocks are scaled to fit into narrow elements";
  let description = [{
    Of the greatest magnitude `a` of each block, what its elements are multiplied
    with before they become `element`, and the scale that the narrow elements are
    multiplied with to get them back. `max` is the greatest finite `element`: 448
    (f8E4M3FN), 57344 (f8E5M2) or 6 (f4E2M1FN). The type of the scale says how:

    - f32: `multiplier = max / a`, with `power_of_two` its mantissa is cleared;
      `scale = 1 / multiplier`. 1 where `a` is 0. For f4E2M1FN this is the scale
      of a tensor, beside those of its blocks: `max` is 448 * 6 then.
    - f8E8M0FNU: the least power of two that is not below `a / max`, found in
      integer bits; `multiplier` is the exact inverse.
    - f8E4M3FN: `scale = a * (s / max)` rounded to nearest, at most 448, with
      `s = 448 * max / tensor_amax` in f32, of the greatest magnitude of the whole
      tensor; `multiplier = 1 / (scale * (1 / s))`, at most the greatest f32.

    docs/quantization.md has the special values, byte for byte.

    Gone once weft-lower-quantization has run.

    Constraints:
    1. (c1) `amax` and `multiplier` are f32; all shapes are equal.
    2. (c2) `element` is f8E4M3FN, f8E5M2 or f4E2M1FN; the scale is one of the
       types above, f8E8M0FNU only for elements of 8 bits, and `power_of_two`
       only with f32 for elements of 8 bits.
    3. (c3) `tensor_amax` stands exactly with scales that are f8E4M3FN; it is f32
       and has one element.

    Example:
    ```mlir
    func.func @f(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>) {
      %multiplier, %scale = weft.block_scale %a {element = f8E4M3FN}
          : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
      return %multiplier, %scale : tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$amax,
                       Optional<AnyRankedTensor>:$tensor_amax,
                       TypeAttr:$element, UnitAttr:$power_of_two);
  let results = (outs AnyRankedTensor:$multiplier, AnyRankedTensor:$scale);
  let assemblyFormat = [{
    $amax (`of` $tensor_amax^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Weft_QuantizeOp : Weft_Op<"quantize", [Pure]> {
  let summary = "cast to narrow elements, with a multiplier for each block";
  let description = [{
    `result[i] = cast(input[i] * multiplier[block of i])`: the product is f32,
    brought into the range of the result's elements and rounded to nearest, ties
    to even. NaN stays NaN where the result has one, and is 0 in f4E2M1FN, whose
    zeros have no sign. A block has as many elements along a dimension as the
    input has for each of the multiplier's.

    With a `key`, one i32, the result is rounded up with the probability that the
    product is past the number below it, by random bits that follow from the key,
    `seed`, and the element's row-major index in the whole tensor: the same on
    every mesh.

    Gone once weft-lower-quantization has run.

    Constraints:
    1. (c1) input f32, bf16 or f16; multiplier f32; result f8E4M3FN, f8E5M2 or
       f4E2M1FN, of the input's shape.
    2. (c2) input and multiplier have as many dimensions, and each size of the
       input is a multiple of the multiplier's.
    3. (c3) f4E2M1FN: the last dimension is even.
    4. (c4) f4E2M1FN: blocks have 1 or an even number of elements along the last
       dimension.
    5. (c5) a key only for f4E2M1FN; it is i32 and has one element. A seed only
       with a key, of 32 bits without a sign.

    Example:
    ```mlir
    func.func @f(%x: tensor<8x64xbf16>, %m: tensor<8x2xf32>) -> tensor<8x64xf8E4M3FN> {
      %0 = weft.quantize %x, %m : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
      return %0 : tensor<8x64xf8E4M3FN>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$multiplier,
                       Optional<AnyRankedTensor>:$key,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $multiplier (`key` $key^ `:` type($key))? attr-dict
    `:` type($input) `,` type($multiplier) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Weft_DequantizeOp : Weft_Op<"dequantize", [Pure]> {
  let summary = "the numbers that narrow elements and their scales stand for";
  let description = [{
    `result[i] = input[i] * scale[block of i]`, computed in f32 and rounded to the
    result's type. Blocks are as in weft.quantize. Products with scales that are
    f8E8M0FNU or f8E4M3FN are exact in bf16, but for those below its range.

    Gone once weft-lower-quantization has run.

    Constraints:
    1. (c1) input f8E4M3FN, f8E5M2 or f4E2M1FN; scale f32, f8E8M0FNU or f8E4M3FN;
       result f32, bf16 or f16, of the input's shape.
    2. (c2) input and scale have as many dimensions, and each size of the input is
       a multiple of the scale's.
    3. (c3) f4E2M1FN comes from a weft.quantize.

    Example:
    ```mlir
    func.func @f(%x: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xbf16> {
      %0 = weft.dequantize %x, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
      return %0 : tensor<8x64xbf16>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$scale);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale attr-dict `:` type($input) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_WEFT_IR_QUANTIZEOPS_TD
