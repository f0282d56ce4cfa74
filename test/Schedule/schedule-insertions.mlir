// RUN: weft-opt %s --weft-schedule="policy=sync machine=h100x8" | FileCheck %s

// What is inserted into is copied by a kernel of its own if somebody else needs
// it: the two insertions are four kernels, which take 2 us each and hardly more.
// They are two, beside the product, if nobody else needs it. So is each part of a
// concatenation that is not computed where it belongs.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func @shared
// CHECK-SAME: compute_ns = 80{{[0-9][0-9]}} : i64
func.func @shared(%x: tensor<8x4xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %l = tensor.insert_slice %x into %w[0, 0] [8, 4] [1, 1] {weft.op = "insert #0"} : tensor<8x4xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %x into %w[0, 4] [8, 4] [1, 1] {weft.op = "insert #1"} : tensor<8x4xf32> into tensor<8x8xf32>
  return %l, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func @alone
// CHECK-SAME: compute_ns = 60{{[0-9][0-9]}} : i64
func.func @alone(%x: tensor<8x4xf32>, %a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = weft.matmul %a, %a {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %l = tensor.insert_slice %x into %w[0, 0] [8, 4] [1, 1] {weft.op = "insert #0"} : tensor<8x4xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %x into %l[0, 4] [8, 4] [1, 1] {weft.op = "insert #1"} : tensor<8x4xf32> into tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func @parts
// CHECK-SAME: compute_ns = 60{{[0-9][0-9]}} : i64
func.func @parts(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %z: tensor<8x4xf32>) -> tensor<8x12xf32> {
  %c = tensor.concat dim(1) %x, %y, %z {weft.op = "concat #0"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x12xf32>
  return %c : tensor<8x12xf32>
}

// CHECK-LABEL: func @computed
// CHECK-SAME: compute_ns = 40{{[0-9][0-9]}} : i64
func.func @computed(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<16x8xf32> {
  %x = weft.matmul %a, %b {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %y = weft.matmul %b, %a {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %c = tensor.concat dim(0) %x, %y {weft.op = "concat #0"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %c : tensor<16x8xf32>
}

// A constant is copied to the step's memory once, before the task that reads it.
// Of several it is any: the copy is none of a task's then.
// CHECK-LABEL: func @constant
// CHECK-SAME: compute_ns = 40{{[0-9][0-9]}} : i64
func.func @constant(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %x = weft.matmul %a, %v {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  return %x : tensor<2x2xf32>
}

// CHECK-LABEL: func @constant_of_two
// CHECK-SAME: compute_ns = 40{{[0-9][0-9]}} : i64
func.func @constant_of_two(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %x = weft.matmul %a, %v {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %y = weft.matmul %v, %a {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  return %x, %y : tensor<2x2xf32>, tensor<2x2xf32>
}
