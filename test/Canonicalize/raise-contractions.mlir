// RUN: weft-opt %s --weft-raise --split-input-file | FileCheck %s

// CHECK-LABEL: func @matmul
//  CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x16xf32>
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: %[[R:.*]] = weft.matmul %[[A]], %[[B]]
  // CHECK-SAME: tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Narrow operands: the product is f32, and truncated once if nothing else
// uses it.

// CHECK-DAG: #[[$LHS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[$RHS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-DAG: #[[$RES:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @contract_truncate
func.func @contract_truncate(%a: tensor<2x4x8xbf16>, %b: tensor<16x8xbf16>) -> tensor<2x4x16xbf16> {
  %init = arith.constant dense<0.0> : tensor<2x4x16xf32>
  // CHECK: %[[R:.*]] = weft.matmul %{{.*}}, %{{.*}} {indexing_maps = [#[[$LHS]], #[[$RHS]], #[[$RES]]]}
  // CHECK-SAME: tensor<2x4x8xbf16>, tensor<16x8xbf16> -> tensor<2x4x16xbf16>
  // CHECK-NEXT: return %[[R]]
  %0 = linalg.contract indexing_maps = [
      affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (n, k)>,
      affine_map<(b, s, n, k) -> (b, s, n)>]
    ins(%a, %b : tensor<2x4x8xbf16>, tensor<16x8xbf16>) outs(%init : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %1 = arith.truncf %0 : tensor<2x4x16xf32> to tensor<2x4x16xbf16>
  return %1 : tensor<2x4x16xbf16>
}

// -----

// A product of 8 bits is rounded after the sum, however it is written: parts
// that ranks have of it are of 32.

// CHECK-LABEL: func @narrow
func.func @narrow(%a: tensor<4x8xf8E5M2>, %b: tensor<8x16xf8E5M2>) -> (tensor<4x16xf8E5M2>, tensor<4x16xf8E5M2>, tensor<4x16xf8E5M2>) {
  // CHECK: %[[P:.*]] = weft.matmul {{.*}} -> tensor<4x16xf32>
  // CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<4x16xf32>) outs(%{{.*}} : tensor<4x16xf8E5M2>)
  // CHECK: arith.truncf %{{.*}} : f32 to f8E5M2
  %zero = arith.constant dense<0.0> : tensor<4x16xf8E5M2>
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf8E5M2>, tensor<8x16xf8E5M2>) outs(%zero : tensor<4x16xf8E5M2>) -> tensor<4x16xf8E5M2>
  %wide = arith.constant dense<0.0> : tensor<4x16xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<4x8xf8E5M2>, tensor<8x16xf8E5M2>) outs(%wide : tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = arith.truncf %1 : tensor<4x16xf32> to tensor<4x16xf8E5M2>
  %3 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
    : tensor<4x8xf8E5M2>, tensor<8x16xf8E5M2> -> tensor<4x16xf8E5M2>
  // CHECK: return %[[R]], %[[R]], %[[R]]
  return %0, %2, %3 : tensor<4x16xf8E5M2>, tensor<4x16xf8E5M2>, tensor<4x16xf8E5M2>
}

// -----

// CHECK-LABEL: func @no_fold_of_shared_truncation
func.func @no_fold_of_shared_truncation(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) -> (tensor<4x16xf32>, tensor<4x16xbf16>) {
  %init = arith.constant dense<0.0> : tensor<4x16xf32>
  // CHECK: weft.matmul {{.*}} -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xbf16>, tensor<8x16xbf16>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: arith.truncf
  %1 = arith.truncf %0 : tensor<4x16xf32> to tensor<4x16xbf16>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xbf16>
}

// -----

// An init that is not zero is added to the product, before rounding.

// CHECK-LABEL: func @init
//  CHECK-SAME: %[[A:.*]]: tensor<4x8xbf16>, %[[B:.*]]: tensor<8x16xbf16>, %[[C:.*]]: tensor<4x16xbf16>
func.func @init(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>, %c: tensor<4x16xbf16>) -> tensor<4x16xbf16> {
  // CHECK: %[[P:.*]] = weft.matmul %[[A]], %[[B]] {{.*}} -> tensor<4x16xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[P]], %[[C]] : tensor<4x16xf32>, tensor<4x16xbf16>)
  // CHECK: arith.extf
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.truncf
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xbf16>, tensor<8x16xbf16>) outs(%c : tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %0 : tensor<4x16xbf16>
}

// -----

// CHECK-LABEL: func @batch_f64
func.func @batch_f64(%a: tensor<2x4x8xf64>, %b: tensor<2x8x16xf64>, %c: tensor<2x4x16xf64>) -> tensor<2x4x16xf64> {
  // CHECK: weft.matmul {{.*}} -> tensor<2x4x16xf64>
  // CHECK: arith.addf
  %0 = linalg.batch_matmul ins(%a, %b : tensor<2x4x8xf64>, tensor<2x8x16xf64>) outs(%c : tensor<2x4x16xf64>) -> tensor<2x4x16xf64>
  return %0 : tensor<2x4x16xf64>
}

// -----

// Dot products of rows have no M and no N; integers have no weft.matmul.

// CHECK-LABEL: func @negative_dot_products_and_integers
func.func @negative_dot_products_and_integers(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %i: tensor<4x8xi32>, %j: tensor<8x16xi32>) -> (tensor<4xf32>, tensor<4x16xi32>) {
  // CHECK-NOT: weft.matmul
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
    ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %izero = arith.constant dense<0> : tensor<4x16xi32>
  %1 = linalg.matmul ins(%i, %j : tensor<4x8xi32>, tensor<8x16xi32>) outs(%izero : tensor<4x16xi32>) -> tensor<4x16xi32>
  return %0, %1 : tensor<4xf32>, tensor<4x16xi32>
}

// -----

// (out + a) * b is no contraction.

// CHECK-LABEL: func @negative_other_body
func.func @negative_other_body(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>, %z: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK-NOT: weft.matmul
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    %p = arith.mulf %s, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// An order that is declared is that of the contraction; where it begins with
// other elements, they belong to what is declared.
// CHECK-LABEL: func @ordered
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 2>
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} attrs = {weft.order = #weft.order<leaves = 4>}
func.func @ordered(%x: tensor<4x64xf32>, %w: tensor<64x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul {weft.order = #weft.order<leaves = 2>} ins(%x, %w : tensor<4x64xf32>, tensor<64x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.matmul {weft.order = #weft.order<leaves = 4>} ins(%x, %w : tensor<4x64xf32>, tensor<64x8xf32>) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
