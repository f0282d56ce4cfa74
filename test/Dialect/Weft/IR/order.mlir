// RUN: weft-opt %s | weft-opt | FileCheck %s

// CHECK: module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {

weft.mesh @mesh = <["tp"=2]>

// CHECK-LABEL: func @matmul
// CHECK: weft.order = #weft.order<leaves = 8>
func.func @matmul(%x: tensor<8x1024xf32>, %w: tensor<1024x32xf32>) -> tensor<8x32xf32> {
  %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
         affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x1024xf32>, tensor<1024x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// CHECK-LABEL: func @others
// CHECK: #weft.order<leaves = 2, rounded = true>
// CHECK: #weft.order<leaves = 4, lanes = 16>
func.func @others(%x: tensor<1024xf32>, %i: tensor<f32>) -> (tensor<1024xf32>, tensor<f32>) {
  %0 = weft.all_reduce sum %x on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2, rounded = true>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<1024xf32>) outs(%i : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0, %1 : tensor<1024xf32>, tensor<f32>
}
}
