// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-prepare-kernels

// Ops of quantization that stand in a later phase are refused.

func.func @amax(%x: tensor<8x64xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{quantizes, which weft-lower-quantization writes out in the global phase}}
  %a = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xf32> -> tensor<8x2xf32>
  return %a : tensor<8x2xf32>
}

// -----

func.func @scales(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has scales, which weft-lower-quantization writes out in the global phase}}
  %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
      affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>]}
      : tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
