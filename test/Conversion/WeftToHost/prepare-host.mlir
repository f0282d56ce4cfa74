// RUN: weft-opt %s --weft-prepare-host -split-input-file | FileCheck %s

// Named ops and ops on tensors become generics; an index out of range is zero.

// CHECK-LABEL: func @lookup
// CHECK-SAME: (%[[TABLE:.*]]: tensor<16x4xf32>, %{{.*}}: tensor<8xi32>)
func.func @lookup(%table: tensor<16x4xf32>, %i: tensor<8xi32>) -> tensor<8x4xf32> {
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i32, %{{.*}}: f32):
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[I]] : i32 to index
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX]], %{{.*}} : index
  // CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[INDEX]], %{{.*}} : index
  // CHECK: %[[COLUMN:.*]] = linalg.index 1 : index
  // CHECK: %[[V:.*]] = tensor.extract %[[TABLE]][%[[SAFE]], %[[COLUMN]]] : tensor<16x4xf32>
  // CHECK: arith.select %[[INSIDE]], %[[V]], %{{.*}} : f32
  // CHECK-NOT: weft.take
  %r = weft.take %table, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// A table without rows is not looked into.

// CHECK-LABEL: func @lookup_nothing
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @lookup_nothing(%table: tensor<0x4xf32>, %i: tensor<8xi32>) -> tensor<8x4xf32> {
  %r = weft.take %table, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<0x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// Each element gets at most one update: no serial loop.

// CHECK-LABEL: func @scatter_once
// CHECK-NOT: weft.scatter_add
// CHECK: linalg.generic
// CHECK: %[[HIT:.*]] = arith.cmpi eq
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: arith.select %[[HIT]], %[[SUM]]
func.func @scatter_once(%init: tensor<4x8xf32>, %i: tensor<4xi32>, %u: tensor<4xf32>) -> tensor<4x8xf32> {
  %r = weft.scatter_add %init, %i, %u {axis = 1 : i64, table_map = affine_map<(b) -> (b)>, index_map = affine_map<(b) -> (b)>}
      : tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Sums of narrow updates are f32 until the end.

// CHECK-LABEL: func @scatter_narrow
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: weft.scatter_add {{.*}} : tensor<16x4xf32>, tensor<8xi32>, tensor<8x4xf32>
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @scatter_narrow(%init: tensor<16x4xbf16>, %i: tensor<8xi32>, %u: tensor<8x4xbf16>) -> tensor<16x4xbf16> {
  %r = weft.scatter_add %init, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<16x4xbf16>, tensor<8xi32>, tensor<8x4xbf16>
  return %r : tensor<16x4xbf16>
}

// -----

// Transposes of operands and result are strides of the contraction.

// CHECK-LABEL: func @transposed
// CHECK-SAME: (%[[A:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<4x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[M:.*]] = weft.matmul %[[A]], %[[B]] {{.*}} : tensor<8x16xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
// CHECK-NEXT: return %[[M]]
func.func @transposed(%a: tensor<8x16xf32>, %b: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %at = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
  %m = weft.matmul %at, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<16x8xf32>, tensor<4x8xf32> -> tensor<16x4xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %mt = linalg.transpose ins(%m : tensor<16x4xf32>) outs(%f : tensor<4x16xf32>) permutation = [1, 0]
  return %mt : tensor<4x16xf32>
}

// -----

// A contraction of types that the runtime has none for is one of f32.

// CHECK-LABEL: func @mixed
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: weft.matmul {{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
func.func @mixed(%a: tensor<8x16xf16>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %m = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xf16>, tensor<16x4xf32> -> tensor<8x4xf32>
  return %m : tensor<8x4xf32>
}

// -----

// A transpose of what was converted behind a contraction goes into the
// contraction all the same.
// CHECK-LABEL: func @transposed_conversion
// CHECK: %[[M:.*]] = weft.matmul {{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<4x8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[M]] : tensor<4x8xf32>)
// CHECK: arith.truncf
// CHECK-NOT: linalg.generic
func.func @transposed_conversion(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> (tensor<4x8xbf16> {weft.name = "y"}) {
  %m = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %n = arith.truncf %m : tensor<8x4xf32> to tensor<8x4xbf16>
  %e = tensor.empty() : tensor<4x8xbf16>
  %t = linalg.transpose ins(%n : tensor<8x4xbf16>) outs(%e : tensor<4x8xbf16>) permutation = [1, 0]
  return %t : tensor<4x8xbf16>
}
