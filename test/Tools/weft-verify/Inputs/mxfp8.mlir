// A product of operands in MXFP8, which the user writes.
func.func @f(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xbf16> {
  %ax = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
  %mx, %sx = weft.block_scale %ax {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  %qx = weft.quantize %x, %mx : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
  %dx = weft.dequantize %qx, %sx : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
  %aw = weft.amax %w {blocks = array<i64: 32, 1>} : tensor<64x32xbf16> -> tensor<2x32xf32>
  %mw, %sw = weft.block_scale %aw {element = f8E4M3FN} : (tensor<2x32xf32>) -> (tensor<2x32xf32>, tensor<2x32xf8E8M0FNU>)
  %qw = weft.quantize %w, %mw : tensor<64x32xbf16>, tensor<2x32xf32> -> tensor<64x32xf8E4M3FN>
  %dw = weft.dequantize %qw, %sw : tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU> -> tensor<64x32xbf16>
  %y = weft.matmul %dx, %dw {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]}
      : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
