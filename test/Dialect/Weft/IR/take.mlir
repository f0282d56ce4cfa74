// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// CHECK-LABEL: func @take
func.func @take(%table: tensor<1024x64xf32>, %tokens: tensor<8x128xi32>) -> tensor<8x128x64xf32> {
  // CHECK: weft.take %{{.*}}, %{{.*}} {axis = 0 : i64, index_map = #{{.*}}, table_map = #{{.*}}} : tensor<1024x64xf32>, tensor<8x128xi32> -> tensor<8x128x64xf32>
  %0 = weft.take %table, %tokens {axis = 0 : i64,
         table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
       : tensor<1024x64xf32>, tensor<8x128xi32> -> tensor<8x128x64xf32>
  return %0 : tensor<8x128x64xf32>
}

// CHECK-LABEL: func @take_with_base
func.func @take_with_base(%table: tensor<16x8xf32>, %i: tensor<8xi64>, %base: index) -> tensor<8xf32> {
  // CHECK: weft.take %{{.*}}, %{{.*}} base %{{.*}} {axis = 0 : i64
  %0 = weft.take %table, %i base %base {axis = 0 : i64,
         table_map = affine_map<(i) -> (i)>, index_map = affine_map<(i) -> (i)>}
       : tensor<16x8xf32>, tensor<8xi64> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
