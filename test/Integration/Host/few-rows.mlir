// RUN: %native %s --ulps 8

// A number for each block of few elements, where threads share out what is in a
// block, or the blocks.

func.func @scaled_6_8_f32(%x: tensor<6x8xf32> {weft.name = "x"}, %s: tensor<6xf32> {weft.name = "s"}) -> (tensor<6x8xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<6x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<6x8xf32>, tensor<6xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

func.func @scaled_12_16_bf16(%x: tensor<12x16xbf16> {weft.name = "x"}, %s: tensor<12xbf16> {weft.name = "s"}) -> (tensor<12x16xbf16> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<12x16xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<12x16xbf16>, tensor<12xbf16>) outs(%e : tensor<12x16xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %p = arith.mulf %a, %b : bf16
    %q = arith.mulf %p, %b : bf16
    linalg.yield %q : bf16
  } -> tensor<12x16xbf16>
  return %y : tensor<12x16xbf16>
}

// -----

func.func @scaled_2_3_8_i32(%x: tensor<2x3x8xi32> {weft.name = "x"}, %s: tensor<2x3xi32> {weft.name = "s"}) -> (tensor<2x3x8xi32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<2x3x8xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<2x3x8xi32>, tensor<2x3xi32>) outs(%e : tensor<2x3x8xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.muli %p, %b : i32
    linalg.yield %q : i32
  } -> tensor<2x3x8xi32>
  return %y : tensor<2x3x8xi32>
}

// -----

func.func @scaled_5_8_f32(%x: tensor<5x8xf32> {weft.name = "x"}, %s: tensor<5xf32> {weft.name = "s"}) -> (tensor<5x8xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<5x8xf32>, tensor<5xf32>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

func.func @scaled_14_4_f32(%x: tensor<14x4xf32> {weft.name = "x"}, %s: tensor<14xf32> {weft.name = "s"}) -> (tensor<14x4xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<14x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<14x4xf32>, tensor<14xf32>) outs(%e : tensor<14x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<14x4xf32>
  return %y : tensor<14x4xf32>
}

// -----

func.func @scaled_2_40_8_f32(%x: tensor<2x40x8xf32> {weft.name = "x"}, %s: tensor<2x40xf32> {weft.name = "s"}) -> (tensor<2x40x8xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<2x40x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<2x40x8xf32>, tensor<2x40xf32>) outs(%e : tensor<2x40x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<2x40x8xf32>
  return %y : tensor<2x40x8xf32>
}

// -----

func.func @scaled_40_8_f16(%x: tensor<40x8xf16> {weft.name = "x"}, %s: tensor<40xf16> {weft.name = "s"}) -> (tensor<40x8xf16> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<40x8xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<40x8xf16>, tensor<40xf16>) outs(%e : tensor<40x8xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %p = arith.mulf %a, %b : f16
    %q = arith.mulf %p, %b : f16
    linalg.yield %q : f16
  } -> tensor<40x8xf16>
  return %y : tensor<40x8xf16>
}

// -----

func.func @scaled_3_64_2_f32(%x: tensor<3x64x2xf32> {weft.name = "x"}, %s: tensor<3x64xf32> {weft.name = "s"}) -> (tensor<3x64x2xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<3x64x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<3x64x2xf32>, tensor<3x64xf32>) outs(%e : tensor<3x64x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<3x64x2xf32>
  return %y : tensor<3x64x2xf32>
}

// -----

func.func @scaled_1_8_8_i8(%x: tensor<1x8x8xi8> {weft.name = "x"}, %s: tensor<1x8xi8> {weft.name = "s"}) -> (tensor<1x8x8xi8> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<1x8x8xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<1x8x8xi8>, tensor<1x8xi8>) outs(%e : tensor<1x8x8xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %p = arith.muli %a, %b : i8
    %q = arith.muli %p, %b : i8
    linalg.yield %q : i8
  } -> tensor<1x8x8xi8>
  return %y : tensor<1x8x8xi8>
}

// -----

// Blocks whose number is no multiple of what is fetched between them.
func.func @least_of_rows(%x: tensor<64x14x8xf32> {weft.name = "x"}, %s: tensor<64x14xf32> {weft.name = "s"}) -> (tensor<64x14x8xf32> {weft.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %most = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<64x14x8xf32>) outs(%zero : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.minimumf %o, %a : f32
    linalg.yield %b : f32
  } -> tensor<64xf32>
  %e = tensor.empty() : tensor<64x14x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s, %most : tensor<64x14x8xf32>, tensor<64x14xf32>, tensor<64xf32>) outs(%e : tensor<64x14x8xf32>) {
  ^bb0(%a: f32, %b: f32, %m: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %m : f32
    linalg.yield %q : f32
  } -> tensor<64x14x8xf32>
  return %y : tensor<64x14x8xf32>
}
