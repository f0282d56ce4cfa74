// RUN: weft-opt %s --weft-raise --split-input-file | FileCheck %s

// The index is an element of an input: that input holds the indices.

// CHECK-DAG: #[[$TABLE:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[$INDEX:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @embedding
//  CHECK-SAME: %[[T:.*]]: tensor<256x64xf32>, %[[I:.*]]: tensor<4x32xi64>
func.func @embedding(%table: tensor<256x64xf32>, %tokens: tensor<4x32xi64>) -> tensor<4x32x64xf32> {
  %c256 = arith.constant 256 : index
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4x32x64xf32>
  // CHECK: %[[R:.*]] = weft.take %[[T]], %[[I]] {axis = 0 : i64, index_map = #[[$INDEX]], table_map = #[[$TABLE]]}
  // CHECK-SAME: tensor<256x64xf32>, tensor<4x32xi64> -> tensor<4x32x64xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s, d)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%tokens : tensor<4x32xi64>) outs(%e : tensor<4x32x64xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %d = linalg.index 2 : index
    %below = arith.cmpi slt, %i, %c256 : index
    cf.assert %below, "index must be smaller than dim size"
    %above = arith.cmpi sge, %in, %c0 : i64
    cf.assert %above, "index must be larger or equal to 0"
    %x = tensor.extract %table[%i, %d] : tensor<256x64xf32>
    linalg.yield %x : f32
  } -> tensor<4x32x64xf32>
  return %0 : tensor<4x32x64xf32>
}

// -----

// Indices that are read in the body and clamped: the clamp becomes a
// computation over the loops that it depends on.

// CHECK-LABEL: func @clamped
//  CHECK-SAME: %[[T:.*]]: tensor<256x64xf32>, %[[I:.*]]: tensor<4x32x1xi32>
func.func @clamped(%table: tensor<256x64xf32>, %tokens: tensor<4x32x1xi32>) -> tensor<4x32x64xbf16> {
  %c0 = arith.constant 0 : index
  %c255 = arith.constant 255 : index
  %e = tensor.empty() : tensor<4x32x64xbf16>
  // CHECK: %[[CLAMPED:.*]] = linalg.generic {{.*}} ins(%[[I]] : tensor<4x32x1xi32>) outs({{.*}} : tensor<4x32xi64>)
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: %[[TAKEN:.*]] = weft.take %[[T]], %[[CLAMPED]]
  // CHECK-SAME: tensor<256x64xf32>, tensor<4x32xi64> -> tensor<4x32x64xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[TAKEN]]
  // CHECK: arith.truncf
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>],
      iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<4x32x64xbf16>) {
  ^bb0(%out: bf16):
    %b = linalg.index 0 : index
    %s = linalg.index 1 : index
    %d = linalg.index 2 : index
    %t = tensor.extract %tokens[%b, %s, %c0] : tensor<4x32x1xi32>
    %i = arith.index_cast %t : i32 to index
    %low = arith.maxsi %i, %c0 : index
    %high = arith.minsi %low, %c255 : index
    %x = tensor.extract %table[%high, %d] : tensor<256x64xf32>
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<4x32x64xbf16>
  return %0 : tensor<4x32x64xbf16>
}

// -----

// CHECK: #[[$SAME:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @take_along_axis
func.func @take_along_axis(%logits: tensor<4x32x256xf32>, %labels: tensor<4x32xi32>) -> tensor<4x32xf32> {
  %e = tensor.empty() : tensor<4x32xf32>
  // CHECK: weft.take %{{.*}}, %{{.*}} {axis = 2 : i64, index_map = #[[$SAME]], table_map = #[[$SAME]]}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, s)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%labels : tensor<4x32xi32>) outs(%e : tensor<4x32xf32>) {
  ^bb0(%in: i32, %out: f32):
    %b = linalg.index 0 : index
    %s = linalg.index 1 : index
    %i = arith.index_cast %in : i32 to index
    %x = tensor.extract %logits[%b, %s, %i] : tensor<4x32x256xf32>
    linalg.yield %x : f32
  } -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// Two computed indices: not a lookup along one axis.

// CHECK-LABEL: func @negative_two_axes
func.func @negative_two_axes(%table: tensor<16x64xf32>, %i: tensor<8xi32>, %j: tensor<8xi32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // CHECK-NOT: weft.take
  // CHECK: tensor.extract
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]}
    ins(%i, %j : tensor<8xi32>, tensor<8xi32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: i32, %b: i32, %out: f32):
    %k = arith.index_cast %a : i32 to index
    %l = arith.index_cast %b : i32 to index
    %x = tensor.extract %table[%k, %l] : tensor<16x64xf32>
    linalg.yield %x : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func @concat
//  CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4x24xf32>
func.func @concat(%a: tensor<4x8xf32>, %b: tensor<4x24xf32>) -> tensor<4x32xf32> {
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4x32xf32>
  // CHECK: tensor.concat dim(1) %[[A]], %[[B]]
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %first = arith.cmpi ult, %j, %c8 : index
    %x = scf.if %first -> f32 {
      %y = tensor.extract %a[%i, %j] : tensor<4x8xf32>
      scf.yield %y : f32
    } else {
      %k = arith.subi %j, %c8 : index
      %y = tensor.extract %b[%i, %k] : tensor<4x24xf32>
      scf.yield %y : f32
    }
    linalg.yield %x : f32
  } -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// The second piece is read from another place than its start.

// CHECK-LABEL: func @negative_concat_offset
func.func @negative_concat_offset(%a: tensor<4x8xf32>, %b: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4x32xf32>
  // CHECK-NOT: tensor.concat
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %first = arith.cmpi ult, %j, %c8 : index
    %x = scf.if %first -> f32 {
      %y = tensor.extract %a[%i, %j] : tensor<4x8xf32>
      scf.yield %y : f32
    } else {
      %y = tensor.extract %b[%i, %j] : tensor<4x32xf32>
      scf.yield %y : f32
    }
    linalg.yield %x : f32
  } -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
