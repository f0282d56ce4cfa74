// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @amax_c1(%x: tensor<8x64xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected blocks that divide 'tensor<8x64xf32>', got [1, 30]}}
  %0 = weft.amax %x {blocks = array<i64: 1, 30>} : tensor<8x64xf32> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @amax_c1_zero(%x: tensor<8x64xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected blocks that divide 'tensor<8x64xf32>', got [0, 32]}}
  %0 = weft.amax %x {blocks = array<i64: 0, 32>} : tensor<8x64xf32> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @amax_c1_rank(%x: tensor<8x64xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected blocks that divide 'tensor<8x64xf32>', got [32]}}
  %0 = weft.amax %x {blocks = array<i64: 32>} : tensor<8x64xf32> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @amax_c2(%x: tensor<8x64xf64>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected f32, bf16 or f16, and an f32 for each block of [1, 32], got 'tensor<8x64xf64>' and 'tensor<8x2xf32>'}}
  %0 = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xf64> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @amax_c2_shape(%x: tensor<8x64xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{and an f32 for each block of [1, 32], got 'tensor<8x64xf32>' and 'tensor<8x4xf32>'}}
  %0 = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @block_scale_c1(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x4xf8E8M0FNU>) {
  // expected-error @+1 {{expected one shape, got 'tensor<8x2xf32>' and 'tensor<8x4xf8E8M0FNU>'}}
  %0, %1 = weft.block_scale %a {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x4xf8E8M0FNU>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x4xf8E8M0FNU>
}

// -----

func.func @block_scale_c1_type(%a: tensor<8x2xbf16>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{expected magnitudes and multipliers in f32, got 'tensor<8x2xbf16>' and 'tensor<8x2xf32>'}}
  %0, %1 = weft.block_scale %a {element = f8E4M3FN} : (tensor<8x2xbf16>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>
}

// -----

func.func @block_scale_c2(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{has no scales of 'f8E8M0FNU' for 'f4E2M1FN'}}
  %0, %1 = weft.block_scale %a {element = f4E2M1FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>
}

// -----

func.func @block_scale_c2_power(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{has no scales of 'f8E8M0FNU' that are powers of two for 'f8E4M3FN'}}
  %0, %1 = weft.block_scale %a {element = f8E4M3FN, power_of_two} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>
}

// -----

func.func @block_scale_c2_power_of_tensor(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // expected-error @+1 {{has no scales of 'f32' that are powers of two for 'f4E2M1FN'}}
  %0, %1 = weft.block_scale %a {element = f4E2M1FN, power_of_two} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

func.func @block_scale_c3(%a: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E4M3FN>) {
  // expected-error @+1 {{has no magnitude of the tensor, but scales of 'f8E4M3FN'}}
  %0, %1 = weft.block_scale %a {element = f4E2M1FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E4M3FN>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf8E4M3FN>
}

// -----

func.func @block_scale_c3_needless(%a: tensor<8x2xf32>, %t: tensor<f32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // expected-error @+1 {{has a magnitude of the tensor, but scales of 'f32'}}
  %0, %1 = weft.block_scale %a of %t {element = f8E4M3FN} : (tensor<8x2xf32>, tensor<f32>) -> (tensor<8x2xf32>, tensor<8x2xf32>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

func.func @block_scale_c3_several(%a: tensor<8x2xf32>, %t: tensor<2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E4M3FN>) {
  // expected-error @+1 {{expected one f32 for the tensor, got 'tensor<2xf32>'}}
  %0, %1 = weft.block_scale %a of %t {element = f4E2M1FN} : (tensor<8x2xf32>, tensor<2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E4M3FN>)
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf8E4M3FN>
}

// -----

func.func @quantize_c1(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>) -> tensor<8x64xbf16> {
  // expected-error @+1 {{cannot cast 'tensor<8x64xf32>' by 'tensor<8x2xf32>' to 'tensor<8x64xbf16>'}}
  %0 = weft.quantize %x, %m : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}

// -----

func.func @quantize_c1_shape(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>) -> tensor<8x32xf8E4M3FN> {
  // expected-error @+1 {{expected one shape, got 'tensor<8x64xf32>' and 'tensor<8x32xf8E4M3FN>'}}
  %0 = weft.quantize %x, %m : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x32xf8E4M3FN>
  return %0 : tensor<8x32xf8E4M3FN>
}

// -----

func.func @quantize_c2(%x: tensor<8x64xf32>, %m: tensor<8x3xf32>) -> tensor<8x64xf8E4M3FN> {
  // expected-error @+1 {{expected blocks that divide 'tensor<8x64xf32>', got one number for each in 'tensor<8x3xf32>'}}
  %0 = weft.quantize %x, %m : tensor<8x64xf32>, tensor<8x3xf32> -> tensor<8x64xf8E4M3FN>
  return %0 : tensor<8x64xf8E4M3FN>
}

// -----

func.func @quantize_c3(%x: tensor<8x33xf32>, %m: tensor<1x1xf32>) -> tensor<8x33xf4E2M1FN> {
  // expected-error @+1 {{expected an even last dimension, got 'tensor<8x33xf4E2M1FN>'}}
  %0 = weft.quantize %x, %m : tensor<8x33xf32>, tensor<1x1xf32> -> tensor<8x33xf4E2M1FN>
  return %0 : tensor<8x33xf4E2M1FN>
}

// -----

func.func @quantize_c4(%x: tensor<8x12xf32>, %m: tensor<8x4xf32>) -> tensor<8x12xf4E2M1FN> {
  // expected-error @+1 {{expected blocks of 1 or an even number along the last dimension, got 3}}
  %0 = weft.quantize %x, %m : tensor<8x12xf32>, tensor<8x4xf32> -> tensor<8x12xf4E2M1FN>
  return %0 : tensor<8x12xf4E2M1FN>
}

// -----

func.func @quantize_c5_seed(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>) -> tensor<8x64xf4E2M1FN> {
  // expected-error @+1 {{has the seed 5 and no key}}
  %0 = weft.quantize %x, %m {seed = 5 : i64} : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x64xf4E2M1FN>
  return %0 : tensor<8x64xf4E2M1FN>
}

// -----

// Bits above these would be cut off: two seeds would be one.
func.func @quantize_c5_long_seed(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>, %k: tensor<i32>) -> tensor<8x64xf4E2M1FN> {
  // expected-error @+1 {{expected a seed of 32 bits, got 4294967296}}
  %0 = weft.quantize %x, %m key %k : tensor<i32> {seed = 4294967296 : i64} : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x64xf4E2M1FN>
  return %0 : tensor<8x64xf4E2M1FN>
}

// -----

func.func @quantize_c5_negative_seed(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>, %k: tensor<i32>) -> tensor<8x64xf4E2M1FN> {
  // expected-error @+1 {{expected a seed of 32 bits, got -1}}
  %0 = weft.quantize %x, %m key %k : tensor<i32> {seed = -1 : i64} : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x64xf4E2M1FN>
  return %0 : tensor<8x64xf4E2M1FN>
}

// -----

func.func @quantize_c5(%x: tensor<8x64xf32>, %m: tensor<8x2xf32>, %k: tensor<i32>) -> tensor<8x64xf8E4M3FN> {
  // expected-error @+1 {{expected one i32 for f4E2M1FN, got 'tensor<i32>' for 'tensor<8x64xf8E4M3FN>'}}
  %0 = weft.quantize %x, %m key %k : tensor<i32> : tensor<8x64xf32>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
  return %0 : tensor<8x64xf8E4M3FN>
}

// -----

func.func @dequantize_c1(%x: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xi8> {
  // expected-error @+1 {{cannot multiply 'tensor<8x64xf8E4M3FN>' with 'tensor<8x2xf8E8M0FNU>' to 'tensor<8x64xi8>'}}
  %0 = weft.dequantize %x, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xi8>
  return %0 : tensor<8x64xi8>
}

// -----

func.func @dequantize_c1_shape(%x: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x32xf32> {
  // expected-error @+1 {{expected one shape, got 'tensor<8x64xf8E4M3FN>' and 'tensor<8x32xf32>'}}
  %0 = weft.dequantize %x, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

func.func @dequantize_c2(%x: tensor<8x64xf8E4M3FN>, %s: tensor<2xf8E8M0FNU>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expected blocks that divide 'tensor<8x64xf8E4M3FN>', got one number for each in 'tensor<2xf8E8M0FNU>'}}
  %0 = weft.dequantize %x, %s : tensor<8x64xf8E4M3FN>, tensor<2xf8E8M0FNU> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

func.func @matmul_c1_scales(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x16xf8E4M3FN>, %s: tensor<8xf32>, %t: tensor<16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has 3 indexing maps, expected 5}}
  %0 = weft.matmul %a, %b scales %s, %t : tensor<8xf32>, tensor<16xf32> {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]} : tensor<8x4xf8E4M3FN>, tensor<4x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @matmul_c5_one(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x16xf8E4M3FN>, %s: tensor<8xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has 1 scales, expected none or 2}}
  %0 = weft.matmul %a, %b scales %s : tensor<8xf32> {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j)>]} : tensor<8x4xf8E4M3FN>, tensor<4x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @matmul_c5_type(%a: tensor<8x4xbf16>, %b: tensor<4x16xbf16>, %s: tensor<8xf32>, %t: tensor<16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has no scales of 'f32' for 'bf16'}}
  %0 = weft.matmul %a, %b scales %s, %t : tensor<8xf32>, tensor<16xf32> {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j)>]} : tensor<8x4xbf16>, tensor<4x16xbf16> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @matmul_c5_size(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x16xf8E4M3FN>, %s: tensor<9xf32>, %t: tensor<16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{scale dim 0 is 9, expected 8 (d0)}}
  %0 = weft.matmul %a, %b scales %s, %t : tensor<9xf32>, tensor<16xf32> {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j)>]} : tensor<8x4xf8E4M3FN>, tensor<4x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @matmul_c5_loop(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x16xf8E4M3FN>, %s: tensor<16xf32>, %t: tensor<16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{d1 is in the map of scale #0, but not in that of its operand}}
  %0 = weft.matmul %a, %b scales %s, %t : tensor<16xf32>, tensor<16xf32> {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> (j)>]} : tensor<8x4xf8E4M3FN>, tensor<4x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @multiplier_of_c1(%a: f32) -> f32 {
  // expected-error @+1 {{has no scales of 'f8E8M0FNU' for 'f4E2M1FN'}}
  %0 = weft.multiplier_of %a {element = f4E2M1FN, scale = f8E8M0FNU}
  return %0 : f32
}

// -----

func.func @scale_of_c1(%a: f32) -> f8E4M3FN {
  // expected-error @+1 {{has no magnitude of the tensor, but scales of 'f8E4M3FN'}}
  %0 = weft.scale_of %a {element = f4E2M1FN} : f8E4M3FN
  return %0 : f8E4M3FN
}

// -----

func.func @scale_of_c1_element(%a: f32) -> f32 {
  // expected-error @+1 {{has no scales of 'f32' for 'f64'}}
  %0 = weft.scale_of %a {element = f64} : f32
  return %0 : f32
}

// -----

func.func @multiplier_of_c1_power(%a: f32) -> f32 {
  // expected-error @+1 {{has no scales of 'f32' that are powers of two for 'f4E2M1FN'}}
  %0 = weft.multiplier_of %a {element = f4E2M1FN, scale = f32, power_of_two}
  return %0 : f32
}

// -----

func.func @scale_of_c1_power(%a: f32) -> f32 {
  // expected-error @+1 {{has no scales of 'f32' that are powers of two for 'f4E2M1FN'}}
  %0 = weft.scale_of %a {element = f4E2M1FN, power_of_two} : f32
  return %0 : f32
}

// -----

func.func @decode_c1(%x: i8) -> f32 {
  // expected-error @+1 {{expected a half of i8, and of nothing else, got 'i8'}}
  %0 = weft.decode %x : i8
  return %0 : f32
}

// -----

func.func @decode_c1_scale(%s: f8E8M0FNU, %half: index) -> f32 {
  // expected-error @+1 {{expected a half of i8, and of nothing else, got 'f8E8M0FNU'}}
  %0 = weft.decode %s at %half : f8E8M0FNU
  return %0 : f32
}

// -----

func.func @place_c1(%i: index) -> i32 {
  // expected-error @+1 {{has 1 indices of 2 sizes, expected as many, and at least one}}
  %0 = weft.place %i of [4, 2] : i32
  return %0 : i32
}

// -----

func.func @place_c1_sizes(%i: index) -> i32 {
  // expected-error @+1 {{has size 0, expected at least 1}}
  %0 = weft.place %i, %i of [4, 0] : i32
  return %0 : i32
}
