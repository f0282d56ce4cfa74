// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// CHECK-LABEL: func @scatter_add
func.func @scatter_add(%init: tensor<1024x64xf32>, %tokens: tensor<8x128xi32>, %g: tensor<8x128x64xf32>, %base: index) -> tensor<1024x64xf32> {
  // CHECK: weft.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64, index_map = #{{.*}}, table_map = #{{.*}}} : tensor<1024x64xf32>, tensor<8x128xi32>, tensor<8x128x64xf32>
  %0 = weft.scatter_add %init, %tokens, %g {axis = 0 : i64,
         table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
       : tensor<1024x64xf32>, tensor<8x128xi32>, tensor<8x128x64xf32>
  // CHECK: weft.scatter_add %{{.*}}, %{{.*}}, %{{.*}} base %{{.*}} {axis = 0
  %1 = weft.scatter_add %0, %tokens, %g base %base {axis = 0 : i64,
         table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
       : tensor<1024x64xf32>, tensor<8x128xi32>, tensor<8x128x64xf32>
  return %1 : tensor<1024x64xf32>
}
