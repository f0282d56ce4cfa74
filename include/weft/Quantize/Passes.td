// SPDX-License-Identifier: Apache-2.0

// The passes of quantization.

#ifndef WEFT_QUANTIZE_PASSES_TD
#define WEFT_QUANTIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def QuantizePass : Pass<"weft-quantize", "::mlir::ModuleOp"> {
  let summary = "give linear layers narrow operands";
  let description = [{
    The contractions of a linear layer, forward and in its backward pass, take
    operands of 8 or 4 bits with scales. Each is cut into blocks along what that
    contraction sums, so that one weight may have two narrow copies; what is cut
    alike is quantized once. Sums stay f32.

    `formats` has entries FORMAT or FORMAT=PATTERN, with one of `fp8`,
    `fp8-block`, `mxfp8` and `nvfp4`; of several, the first counts whose pattern is
    like the name of the weight. Without a pattern all linear layers are meant but
    routers, embeddings and the head; docs/quantization.md says how these are
    told. What stays wide is said in a remark, and so are formats whose scales
    wait for all microbatches along `accumulate`.

    *Requires*: a module as weft-raise leaves it, without orders of sums.

    *Ensures*: signatures stay.

    Example:
    ```mlir
    #map = affine_map<(i, j, k) -> (i, k)>
    #map1 = affine_map<(i, j, k) -> (k, j)>
    #map2 = affine_map<(i, j, k) -> (i, j)>
    func.func @f(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xbf16> {
      %0 = math.absf %x : tensor<8x64xbf16>
      %1 = weft.matmul %0, %w {indexing_maps = [#map, #map1, #map2]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
      return %1 : tensor<8x32xbf16>
    }
    ```
    `weft-opt --weft-quantize=formats=mxfp8` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    func.func @f(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xbf16> {
      %0 = weft.amax %w {blocks = array<i64: 32, 1>} : tensor<64x32xbf16> -> tensor<2x32xf32>
      %multiplier, %scale = weft.block_scale %0 {element = f8E4M3FN} : (tensor<2x32xf32>) -> (tensor<2x32xf32>, tensor<2x32xf8E8M0FNU>)
      %1 = weft.quantize %w, %multiplier : tensor<64x32xbf16>, tensor<2x32xf32> -> tensor<64x32xf8E4M3FN>
      %2 = math.absf %x : tensor<8x64xbf16>
      %3 = weft.amax %2 {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
      %multiplier_0, %scale_1 = weft.block_scale %3 {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
      %4 = weft.quantize %2, %multiplier_0 : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
      %5 = weft.dequantize %4, %scale_1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
      %6 = weft.dequantize %1, %scale : tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU> -> tensor<64x32xbf16>
      %7 = weft.matmul %5, %6 {indexing_maps = [#map, #map1, #map2]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
      return %7 : tensor<8x32xbf16>
    }
    ```
  }];
  let options = [
    ListOption<"formats", "formats", "std::string",
               "what becomes narrow: FORMAT or FORMAT=PATTERN">,
    Option<"accumulate", "accumulate", "std::string", "",
           "the axis along which one rank goes through microbatches">
  ];
  let statistics = [
    Statistic<"numNarrow", "narrow", "contractions with narrow operands">,
    Statistic<"numWide", "wide", "contractions of linear layers without">
  ];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::weft::WeftDialect"
  ];
}

def LowerQuantizationPass : Pass<"weft-lower-quantization", "::mlir::ModuleOp"> {
  let summary = "write the ops of quantization as linalg on blocks";
  let description = [{
    weft.amax, weft.block_scale, weft.quantize and weft.dequantize become
    linalg.generic, so that all later passes and proofs know what they do; what
    they do to a number is one op, such as weft.round_f8. A
    dimension that has several blocks is seen as two, which block and where in
    it: scales are indexed by the first, and ranks get whole blocks. Contractions
    of such tensors loop over both. f4E2M1FN is stored two elements a byte, the
    first in the low bits.

    *Requires*: a module as weft-raise leaves it.

    *Ensures*: no op of quantization is left, no weft.matmul with scales, and no
    f4E2M1FN.

    Example: the multiplier of one tensor.
    ```mlir
    func.func @f(%x: tensor<8xf32>, %m: tensor<1xf32>) -> tensor<8xf8E4M3FN> {
      %0 = weft.quantize %x, %m : tensor<8xf32>, tensor<1xf32> -> tensor<8xf8E4M3FN>
      return %0 : tensor<8xf8E4M3FN>
    }
    ```
    `weft-opt --weft-lower-quantization` makes of it:
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    #map1 = affine_map<(d0) -> ()>
    func.func @f(%x: tensor<8xf32>, %m: tensor<1xf32>) -> tensor<8xf8E4M3FN> {
      %collapsed = tensor.collapse_shape %m [] : tensor<1xf32> into tensor<f32>
      %0 = tensor.empty() : tensor<8xf8E4M3FN>
      %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel"]} ins(%x, %collapsed : tensor<8xf32>, tensor<f32>) outs(%0 : tensor<8xf8E4M3FN>) {
      ^bb0(%in: f32, %in_0: f32, %out: f8E4M3FN):
        %2 = arith.mulf %in, %in_0 : f32
        %3 = weft.round_f8 %2 : f8E4M3FN
        linalg.yield %3 : f8E4M3FN
      } -> tensor<8xf8E4M3FN>
      return %1 : tensor<8xf8E4M3FN>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::weft::WeftDialect", "::mlir::weft::rt::WeftRTDialect"
  ];
}

def ExpandFormulasPass : Pass<"weft-expand-formulas", "::mlir::ModuleOp"> {
  let summary = "write the formulas of quantization as arithmetic";
  let description = [{
    weft.multiplier_of, weft.scale_of, weft.round_f8, weft.round_f4, weft.decode,
    weft.mix_bits and weft.random_bits become ops of arith.

    *Requires*: nothing.

    *Ensures*: none of these ops is left.

    Example:
    ```mlir
    func.func @f(%x: f32) -> f8E4M3FN {
      %0 = weft.round_f8 %x : f8E4M3FN
      return %0 : f8E4M3FN
    }
    ```
    `weft-opt --weft-expand-formulas` makes of it:
    ```mlir
    func.func @f(%x: f32) -> f8E4M3FN {
      %cst = arith.constant -4.480000e+02 : f32
      %cst_0 = arith.constant 4.480000e+02 : f32
      %0 = arith.minimumf %x, %cst_0 : f32
      %1 = arith.maximumf %0, %cst : f32
      %2 = arith.truncf %1 : f32 to f8E4M3FN
      return %2 : f8E4M3FN
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // WEFT_QUANTIZE_PASSES_TD
