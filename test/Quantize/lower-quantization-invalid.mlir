// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-lower-quantization

func.func @returned(%x: tensor<8x64xf32>, %m: tensor<1x1xf32>) -> tensor<8x64xf4E2M1FN> {
  // expected-error @+1 {{makes f4E2M1FN that 'func.return' takes, expected weft.dequantize}}
  %q = weft.quantize %x, %m : tensor<8x64xf32>, tensor<1x1xf32> -> tensor<8x64xf4E2M1FN>
  return %q : tensor<8x64xf4E2M1FN>
}

// -----

func.func @from_outside(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expected f4E2M1FN from a weft.quantize with the blocks of 'tensor<8x4xf8E4M3FN>'}}
  %d = weft.dequantize %q, %s : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN> -> tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

func.func @other_blocks(%x: tensor<8x64xf32>, %m: tensor<8x4xf32>, %s: tensor<1x1xf32>) -> tensor<8x64xf32> {
  %q = weft.quantize %x, %m : tensor<8x64xf32>, tensor<8x4xf32> -> tensor<8x64xf4E2M1FN>
  // expected-error @+1 {{expected f4E2M1FN from a weft.quantize with the blocks of 'tensor<f32>'}}
  %d = weft.dequantize %q, %s : tensor<8x64xf4E2M1FN>, tensor<1x1xf32> -> tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

func.func @scales_of_nibbles(%x: tensor<8x64xf4E2M1FN>, %w: tensor<64x16xf4E2M1FN>, %s: tensor<f32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has scales of f4E2M1FN that is no result of weft.quantize, expected weft.dequantize}}
  %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
      affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>]}
      : tensor<8x64xf4E2M1FN>, tensor<64x16xf4E2M1FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
