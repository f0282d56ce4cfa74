// RUN: weft-opt --split-input-file --weft-join-contractions %s | FileCheck %s

// The gradient of an input of two layers of 64 and 32 outputs: K is 8 parts of
// 8 + 4 elements.

// CHECK-DAG: #[[$X:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[$W:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
// CHECK-DAG: #[[$R:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#id = affine_map<(m, n) -> (m, n)>
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#r = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func @two
// CHECK-SAME: %[[WQ:arg0]]: tensor<16x64xf32>, %[[WK:arg1]]: tensor<16x32xf32>, %[[DQ:arg2]]: tensor<4x64xf32>, %[[DK:arg3]]: tensor<4x32xf32>
// CHECK-DAG: %[[A:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [4, 8, 8] : tensor<4x64xf32> into tensor<4x8x8xf32>
// CHECK-DAG: %[[B:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [4, 8, 4] : tensor<4x32xf32> into tensor<4x8x4xf32>
// CHECK: %[[L:.*]] = tensor.concat dim(2) %[[A]], %[[B]]
// CHECK: %[[V:.*]] = tensor.concat dim(2) {{.*}} -> tensor<16x8x12xf32>
// CHECK: %[[SUM:.*]] = weft.matmul %[[L]], %[[V]] {indexing_maps = [#[[$X]], #[[$W]], #[[$R]]]} : tensor<4x8x12xf32>, tensor<16x8x12xf32> -> tensor<4x16xf32>
// CHECK-NOT: weft.matmul
// The residual is added to it.
// CHECK: linalg.generic {{.*}} ins(%arg4, %[[SUM]] :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @two(%wq: tensor<16x64xf32>, %wk: tensor<16x32xf32>, %dq: tensor<4x64xf32>, %dk: tensor<4x32xf32>, %r: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %q = weft.matmul %dq, %wq {indexing_maps = [#x, #w, #r]} : tensor<4x64xf32>, tensor<16x64xf32> -> tensor<4x16xf32>
  %k = weft.matmul %dk, %wk {indexing_maps = [#x, #w, #r]} : tensor<4x32xf32>, tensor<16x32xf32> -> tensor<4x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%r, %q : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %k : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// The sum over two microbatches has no weight in it, and stays two products.

#id = affine_map<(m, n) -> (m, n)>
#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#r = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func @microbatches
// CHECK-COUNT-2: weft.matmul
// CHECK-NOT: tensor.concat
func.func @microbatches(%x: tensor<64x4xf32>, %y: tensor<64x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %e2 = tensor.empty() : tensor<64x4xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64x4xf32>, tensor<64x4xf32>) outs(%e2 : tensor<64x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64x4xf32>
  %q = weft.matmul %p, %p {indexing_maps = [#x, #w, #r]} : tensor<64x4xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  %k = weft.matmul %p, %p {indexing_maps = [#x, #w, #r]} : tensor<64x4xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %k : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Sums of 3 and 5 elements have no equal parts.

#id = affine_map<(m, n) -> (m, n)>
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#r = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func @odd
// CHECK-COUNT-2: weft.matmul
// CHECK-NOT: tensor.concat
func.func @odd(%wq: tensor<16x3xf32>, %wk: tensor<16x5xf32>, %dq: tensor<4x3xf32>, %dk: tensor<4x5xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %q = weft.matmul %dq, %wq {indexing_maps = [#x, #w, #r]} : tensor<4x3xf32>, tensor<16x3xf32> -> tensor<4x16xf32>
  %k = weft.matmul %dk, %wk {indexing_maps = [#x, #w, #r]} : tensor<4x5xf32>, tensor<16x5xf32> -> tensor<4x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %k : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
