// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// CHECK-LABEL: func @mxfp8
func.func @mxfp8(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  // CHECK: %[[A:.*]] = weft.amax %{{.*}} {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
  %a = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<8x64xbf16> -> tensor<8x2xf32>
  // CHECK: %[[M:.*]], %[[S:.*]] = weft.block_scale %[[A]] {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf8E8M0FNU>)
  // CHECK: %[[Q:.*]] = weft.quantize %{{.*}}, %[[M]] : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
  %q = weft.quantize %x, %m : tensor<8x64xbf16>, tensor<8x2xf32> -> tensor<8x64xf8E4M3FN>
  // CHECK: weft.dequantize %[[Q]], %[[S]] : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
  %d = weft.dequantize %q, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
  return %d : tensor<8x64xbf16>
}

// CHECK-LABEL: func @nvfp4
func.func @nvfp4(%x: tensor<32x64xf32>, %key: tensor<i32>) -> tensor<32x64xf32> {
  %a = weft.amax %x {blocks = array<i64: 16, 16>} : tensor<32x64xf32> -> tensor<2x4xf32>
  %t = weft.amax %a {blocks = array<i64: 2, 4>} : tensor<2x4xf32> -> tensor<1x1xf32>
  // CHECK: weft.block_scale %{{.*}} of %{{.*}} {element = f4E2M1FN} : (tensor<2x4xf32>, tensor<1x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf8E4M3FN>)
  %m, %s = weft.block_scale %a of %t {element = f4E2M1FN} : (tensor<2x4xf32>, tensor<1x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf8E4M3FN>)
  // CHECK: weft.quantize %{{.*}}, %{{.*}} key %{{.*}} : tensor<i32> {seed = 3 : i64} : tensor<32x64xf32>, tensor<2x4xf32> -> tensor<32x64xf4E2M1FN>
  %q = weft.quantize %x, %m key %key : tensor<i32> {seed = 3 : i64} : tensor<32x64xf32>, tensor<2x4xf32> -> tensor<32x64xf4E2M1FN>
  %d = weft.dequantize %q, %s : tensor<32x64xf4E2M1FN>, tensor<2x4xf8E4M3FN> -> tensor<32x64xf32>
  return %d : tensor<32x64xf32>
}

// CHECK-LABEL: func @scaled_matmul
func.func @scaled_matmul(%x: tensor<8x2x32xf8E4M3FN>, %w: tensor<2x32x16xf8E4M3FN>,
    %xs: tensor<8x2xf8E8M0FNU>, %ws: tensor<2x16xf8E8M0FNU>) -> tensor<8x16xf32> {
  // CHECK: weft.matmul %{{.*}}, %{{.*}} scales %{{.*}}, %{{.*}} : tensor<8x2xf8E8M0FNU>, tensor<2x16xf8E8M0FNU> {indexing_maps
  %0 = weft.matmul %x, %w scales %xs, %ws : tensor<8x2xf8E8M0FNU>, tensor<2x16xf8E8M0FNU> {indexing_maps = [
      affine_map<(i, j, b, k) -> (i, b, k)>, affine_map<(i, j, b, k) -> (b, k, j)>, affine_map<(i, j, b, k) -> (i, j)>,
      affine_map<(i, j, b, k) -> (i, b)>, affine_map<(i, j, b, k) -> (b, j)>]}
      : tensor<8x2x32xf8E4M3FN>, tensor<2x32x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func @formulas
func.func @formulas(%a: f32, %t: f32, %x: f32, %key: i32, %row: index, %half: index) -> (f32, f32, f8E4M3FN, f8E5M2, f32, f32) {
  // CHECK: weft.multiplier_of %{{.*}} {element = f8E5M2, power_of_two, scale = f32}
  %0 = weft.multiplier_of %a {element = f8E5M2, power_of_two, scale = f32}
  // CHECK: weft.multiplier_of %{{.*}} of %{{.*}} {element = f4E2M1FN, scale = f8E4M3FN}
  %1 = weft.multiplier_of %a of %t {element = f4E2M1FN, scale = f8E4M3FN}
  // CHECK: weft.scale_of %{{.*}} of %{{.*}} {element = f4E2M1FN} : f8E4M3FN
  %2 = weft.scale_of %a of %t {element = f4E2M1FN} : f8E4M3FN
  // CHECK: weft.round_f8 %{{.*}} : f8E5M2
  %3 = weft.round_f8 %x : f8E5M2
  // CHECK: weft.mix_bits %{{.*}}
  %4 = weft.mix_bits %key
  // CHECK: weft.place %{{.*}}, %{{.*}} of [4294967296, 2] : i64
  %i = weft.place %row, %half of [4294967296, 2] : i64
  // CHECK: weft.random_bits %{{.*}}, %{{.*}}, %{{.*}} : i64
  %5 = weft.random_bits %key, %4, %i : i64
  // CHECK: weft.round_f4 %{{.*}} at %{{.*}} random %{{.*}}
  %6 = weft.round_f4 %x at %half random %5
  // CHECK: weft.decode %{{.*}} at %{{.*}} : i8
  %7 = weft.decode %6 at %half : i8
  %8 = weft.scale_of %a {element = f8E4M3FN} : f8E8M0FNU
  // CHECK: weft.decode %{{.*}} : f8E8M0FNU
  %9 = weft.decode %8 : f8E8M0FNU
  return %0, %1, %2, %3, %7, %9 : f32, f32, f8E4M3FN, f8E5M2, f32, f32
}
