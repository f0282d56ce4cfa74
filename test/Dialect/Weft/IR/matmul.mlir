// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// CHECK-LABEL: func @matmul
func.func @matmul(%x: tensor<8x128x64xbf16>, %w: tensor<64x32xf32>) -> tensor<8x128x32xf32> {
  // CHECK: weft.matmul %{{.*}}, %{{.*}} {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} : tensor<8x128x64xbf16>, tensor<64x32xf32> -> tensor<8x128x32xf32>
  %0 = weft.matmul %x, %w {indexing_maps = [
         affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>,
         affine_map<(b, s, n, k) -> (b, s, n)>]}
       : tensor<8x128x64xbf16>, tensor<64x32xf32> -> tensor<8x128x32xf32>
  return %0 : tensor<8x128x32xf32>
}

// A dim of the lhs alone is summed.

// CHECK-LABEL: func @summed
func.func @summed(%x: tensor<4x8xf64>, %w: tensor<16xf64>) -> tensor<4x16xf64> {
  // CHECK: weft.matmul
  %0 = weft.matmul %x, %w {indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n)>,
         affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x8xf64>, tensor<16xf64> -> tensor<4x16xf64>
  return %0 : tensor<4x16xf64>
}
