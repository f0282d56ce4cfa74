// RUN: weft-opt --split-input-file --weft-lower-quantization %s | FileCheck %s

// Blocks along the second dimension: it is seen as two, and scales have the
// first of these.

// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$BLOCK:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @mxfp8(
func.func @mxfp8(%x: tensor<8x64xbf16>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  // CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [8, 2, 32]
  // CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[$ALL]], #[[$BLOCK]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]]
  // CHECK: math.absf %{{.*}} : bf16
  // CHECK: arith.maximumf %{{.*}} : bf16
  %a = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
  // CHECK: %[[S:.*]]:2 = linalg.generic {{.*}} ins(%[[A]] : tensor<8x2xbf16>) outs({{.*}} : tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  // CHECK: weft.multiplier_of %{{.*}} {element = f8E4M3FN, scale = f8E8M0FNU}
  // CHECK: weft.scale_of %{{.*}} {element = f8E4M3FN} : f8E8M0FNU
  %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  // CHECK: %[[Q:.*]] = linalg.generic {indexing_maps = [#[[$ALL]], #[[$BLOCK]], #[[$ALL]]]
  // CHECK: weft.round_f8 %{{.*}} : f8E4M3FN
  // CHECK: %[[C:.*]] = tensor.collapse_shape %[[Q]]
  %q = weft.quantize %x, %m : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
  // CHECK: return %[[C]], %[[S]]#1
  return %q, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// -----

// Of a tensor: the maximum of its blocks', all of 16 bits; what is asked for in
// f32 is widened.

// CHECK-LABEL: func @nvfp4(
func.func @nvfp4(%x: tensor<8x64xbf16>) -> (tensor<8x4xf8E4M3FN>, tensor<1x1xf32>) {
  // CHECK: %[[A:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x4xbf16>)
  // CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x4xbf16>) outs(%{{.*}} : tensor<bf16>)
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[T]] : tensor<bf16>) outs(%{{.*}} : tensor<f32>)
  // CHECK: %[[R:.*]] = tensor.expand_shape %[[W]]
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %[[T]] : tensor<8x4xbf16>, tensor<bf16>)
  // CHECK: return %{{.*}}, %[[R]]
  %a = weft.amax %x {blocks = array<i64: 1, 16>} : tensor<8x64xbf16> -> tensor<8x4xf32>
  %t = weft.amax %a {blocks = array<i64: 8, 4>} : tensor<8x4xf32> -> tensor<1x1xf32>
  %m, %s = weft.block_scale %a of %t {element = f4E2M1FN} : (tensor<8x4xf32>, tensor<1x1xf32>) -> (tensor<8x4xf32>, tensor<8x4xf8E4M3FN>)
  return %s, %t : tensor<8x4xf8E4M3FN>, tensor<1x1xf32>
}

// -----

// A contraction of what was dequantized loops over blocks and over what is in
// them; so does its result, where a weight has square blocks.

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
// Operands that are one block along what is summed are not cut.

// CHECK-LABEL: func @one_block(
// CHECK: weft.matmul %{{.*}}, %{{.*}} {indexing_maps = {{.*}}, weft_rt.product_type = f8E4M3FN} : tensor<8x128xbf16>, tensor<128x64xbf16> -> tensor<8x64xbf16>
func.func @one_block(%x: tensor<8x128xf8E4M3FN>, %xs: tensor<8x1xf32>, %w: tensor<128x64xf8E4M3FN>, %ws: tensor<1x1xf32>) -> tensor<8x64xbf16> {
  %a = weft.dequantize %x, %xs : tensor<8x128xf8E4M3FN>, tensor<8x1xf32> -> tensor<8x128xbf16>
  %b = weft.dequantize %w, %ws : tensor<128x64xf8E4M3FN>, tensor<1x1xf32> -> tensor<128x64xbf16>
  %y = weft.matmul %a, %b {indexing_maps = [#ik, #kj, #ij]} : tensor<8x128xbf16>, tensor<128x64xbf16> -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// -----

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
// CHECK-DAG: #[[$LHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-DAG: #[[$RHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d1, d2)>
// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
// CHECK-LABEL: func @contraction(
func.func @contraction(%x: tensor<8x256xf8E4M3FN>, %xs: tensor<8x2xf32>, %w: tensor<256x384xf8E4M3FN>, %ws: tensor<2x3xf32>) -> tensor<8x384xbf16> {
  // CHECK-NOT: weft.dequantize
  %a = weft.dequantize %x, %xs : tensor<8x256xf8E4M3FN>, tensor<8x2xf32> -> tensor<8x256xbf16>
  %b = weft.dequantize %w, %ws : tensor<256x384xf8E4M3FN>, tensor<2x3xf32> -> tensor<256x384xbf16>
  // CHECK: %[[Y:.*]] = weft.matmul %{{.*}}, %{{.*}} {indexing_maps = [#[[$LHS]], #[[$RHS]], #[[$OUT]]], weft_rt.product_type = f8E4M3FN} : tensor<8x2x128xbf16>, tensor<2x128x3x128xbf16> -> tensor<8x3x128xbf16>
  // CHECK: tensor.collapse_shape %[[Y]] {{\[\[}}0], [1, 2]] : tensor<8x3x128xbf16> into tensor<8x384xbf16>
  %y = weft.matmul %a, %b {indexing_maps = [#ik, #kj, #ij]} : tensor<8x256xbf16>, tensor<256x384xbf16> -> tensor<8x384xbf16>
  return %y : tensor<8x384xbf16>
}

// -----

// A reshape that no weft.dequantize made stays in front of its contraction.

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func @negative_reshape(
func.func @negative_reshape(%x: tensor<8x2x32xf32>, %w: tensor<64x16xf32>) -> tensor<8x16xf32> {
  // CHECK: weft.matmul %{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
  %c = tensor.collapse_shape %x [[0], [1, 2]] : tensor<8x2x32xf32> into tensor<8x64xf32>
  %y = weft.matmul %c, %w {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Elements of 4 bits are stored two a byte; where blocks lie along another
// dimension, the two of a byte have scales of their own.

// CHECK-LABEL: func @nibbles(
func.func @nibbles(%x: tensor<32x64xf32>, %m: tensor<2x64xf32>, %s: tensor<2x64xf8E4M3FN>, %key: tensor<1xi32>) -> tensor<32x64xf32> {
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [2, 16, 32, 2]
  // The seed is in a tensor: kernels of others are the same.
  // CHECK: linalg.generic {{.*}} iterator_types = []} ins(%{{.*}} : tensor<i32>) outs(%{{.*}}, %{{.*}} : tensor<i32>, tensor<i32>)
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<2x16x32x2xf32>, tensor<2x32x2xf32>, tensor<i32>, tensor<i32>) outs(%{{.*}} : tensor<2x16x32xi8>)
  // CHECK: %[[PLACE:.*]] = weft.place %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} of [2, 16, 32, 2] : i32
  // CHECK: weft.random_bits %{{.*}}, %{{.*}}, %[[PLACE]] : i32
  // CHECK: linalg.index 3
  // CHECK: weft.round_f4 %{{.*}} at %{{.*}} random %{{.*}}
  // CHECK: arith.ori
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x16x32xi8>, tensor<2x32x2xf8E4M3FN>) outs(%{{.*}} : tensor<2x16x32x2xf32>)
  // CHECK-NOT: f4E2M1FN
  %q = weft.quantize %x, %m key %key : tensor<1xi32> {seed = 5 : i64} : tensor<32x64xf32>, tensor<2x64xf32> -> tensor<32x64xf4E2M1FN>
  %d = weft.dequantize %q, %s : tensor<32x64xf4E2M1FN>, tensor<2x64xf8E4M3FN> -> tensor<32x64xf32>
  return %d : tensor<32x64xf32>
}

// -----

// Scales of those are made in pairs, as the cast reads them; what nobody reads
// otherwise is not joined.

// CHECK-LABEL: func @scales_in_pairs(
func.func @scales_in_pairs(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  // CHECK: %[[A:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x64xbf16>)
  // CHECK: %[[P:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0], [1, 2]] output_shape [2, 32, 2]
  // CHECK: %[[S:.*]]:2 = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<2x32x2xbf16>, tensor<bf16>) outs(%{{.*}} : tensor<2x32x2xf32>, tensor<2x32x2xf8E4M3FN>)
  // CHECK-NOT: tensor.collapse_shape %[[S]]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[S]]#0 : tensor<2x16x32x2xbf16>, tensor<2x32x2xf32>)
  // CHECK-NOT: tensor.collapse_shape %[[S]]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[S]]#1 : tensor<2x16x32xi8>, tensor<2x32x2xf8E4M3FN>)
  %a = weft.amax %x {blocks = array<i64: 16, 1>} : tensor<32x64xbf16> -> tensor<2x64xf32>
  %t = weft.amax %a {blocks = array<i64: 2, 64>} : tensor<2x64xf32> -> tensor<1x1xf32>
  %m, %s = weft.block_scale %a of %t {element = f4E2M1FN} : (tensor<2x64xf32>, tensor<1x1xf32>) -> (tensor<2x64xf32>, tensor<2x64xf8E4M3FN>)
  %q = weft.quantize %x, %m : tensor<32x64xbf16>, tensor<2x64xf32> -> tensor<32x64xf4E2M1FN>
  %d = weft.dequantize %q, %s : tensor<32x64xf4E2M1FN>, tensor<2x64xf8E4M3FN> -> tensor<32x64xbf16>
  return %d : tensor<32x64xbf16>
}

// -----

// So are their magnitudes, where nothing else takes these.

// CHECK-LABEL: func @magnitudes_in_pairs(
func.func @magnitudes_in_pairs(%x: tensor<32x64xbf16>, %t: tensor<1x1xf32>) -> tensor<32x64xbf16> {
  // CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [2, 16, 32, 2]
  // CHECK: %[[A:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%[[X]] : tensor<2x16x32x2xbf16>) outs(%{{.*}} : tensor<2x32x2xbf16>)
  // CHECK-NOT: tensor.collapse_shape %[[A]]
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %{{.*}} : tensor<2x32x2xbf16>, tensor<f32>)
  // CHECK-NOT: tensor.collapse_shape %[[A]]
  // CHECK: return
  %a = weft.amax %x {blocks = array<i64: 16, 1>} : tensor<32x64xbf16> -> tensor<2x64xf32>
  %m, %s = weft.block_scale %a of %t {element = f4E2M1FN} : (tensor<2x64xf32>, tensor<1x1xf32>) -> (tensor<2x64xf32>, tensor<2x64xf8E4M3FN>)
  %q = weft.quantize %x, %m : tensor<32x64xbf16>, tensor<2x64xf32> -> tensor<32x64xf4E2M1FN>
  %d = weft.dequantize %q, %s : tensor<32x64xf4E2M1FN>, tensor<2x64xf8E4M3FN> -> tensor<32x64xbf16>
  return %d : tensor<32x64xbf16>
}

// -----

// Scales of a contraction: of blocks, and of whole operands.

// CHECK-LABEL: func @scaled(
func.func @scaled(%x: tensor<8x2x32xf8E4M3FN>, %w: tensor<2x32x16xf8E5M2>, %xs: tensor<8x2xf8E8M0FNU>, %ws: tensor<f32>) -> tensor<8x16xf32> {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8x2x32xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) outs(%{{.*}} : tensor<8x2x32xbf16>)
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x32x16xf8E5M2>, tensor<f32>) outs(%{{.*}} : tensor<2x32x16xf32>)
  // CHECK: weft.matmul %{{.*}}, %{{.*}} {indexing_maps = [{{[^]]*}}]} : tensor<8x2x32xbf16>, tensor<2x32x16xf32> -> tensor<8x16xf32>
  %0 = weft.matmul %x, %w scales %xs, %ws : tensor<8x2xf8E8M0FNU>, tensor<f32> {indexing_maps = [
      affine_map<(i, j, b, k) -> (i, b, k)>, affine_map<(i, j, b, k) -> (b, k, j)>, affine_map<(i, j, b, k) -> (i, j)>,
      affine_map<(i, j, b, k) -> (i, b)>, affine_map<(i, j, b, k) -> ()>]}
      : tensor<8x2x32xf8E4M3FN>, tensor<2x32x16xf8E5M2> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// In a region.

// CHECK-LABEL: func @region(
func.func @region(%x: tensor<8x64xf32>, %c: i1) -> tensor<1x1xf32> {
  // CHECK: scf.if
  // CHECK-NOT: weft.amax
  %0 = scf.if %c -> tensor<1x1xf32> {
    %a = weft.amax %x {blocks = array<i64: 8, 64>} : tensor<8x64xf32> -> tensor<1x1xf32>
    scf.yield %a : tensor<1x1xf32>
  } else {
    %z = arith.constant dense<0.0> : tensor<1x1xf32>
    scf.yield %z : tensor<1x1xf32>
  }
  return %0 : tensor<1x1xf32>
}
