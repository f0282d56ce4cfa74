// RUN: weft-opt %s --weft-raise -split-input-file | FileCheck %s

// Slices of which an offset may point outside are moved inside.

// CHECK-LABEL: func @offsets
// CHECK-SAME: %[[X:.*]]: tensor<5x4xf32>
func.func @offsets(%x: tensor<5x4xf32>, %k: tensor<i32>) -> (tensor<2x3xf32>, tensor<5x4xf32>) {
  // CHECK-DAG: %[[ROWS:.*]] = arith.constant 3 : index
  // CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[I:.*]] = arith.index_cast
  %e = tensor.extract %k[] : tensor<i32>
  %i = arith.index_cast %e : i32 to index
  // CHECK: %[[A:.*]] = arith.minsi %[[I]], %[[ROWS]]
  // CHECK: %[[ROW:.*]] = arith.maxsi %[[A]], %[[ZERO]]
  // CHECK: %[[B:.*]] = arith.minsi %[[I]], %[[COLUMNS]]
  // CHECK: %[[COLUMN:.*]] = arith.maxsi %[[B]], %[[ZERO]]
  // CHECK: tensor.extract_slice %[[X]][%[[ROW]], %[[COLUMN]]] [2, 3] [1, 1]
  %0 = tensor.extract_slice %x[%i, %i] [2, 3] [1, 1] : tensor<5x4xf32> to tensor<2x3xf32>
  // CHECK: tensor.insert_slice %{{.*}} into %[[X]][%[[ROW]], 0] [2, 3] [1, 1]
  %1 = tensor.insert_slice %0 into %x[%i, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<5x4xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<5x4xf32>
}

// -----

// The index of a loop that stays inside needs nothing.

// CHECK-LABEL: func @negative_loop
// CHECK-NOT: arith.minsi
// CHECK-NOT: arith.maxsi
// CHECK: return
func.func @negative_loop(%x: tensor<1000x4xf32>) -> tensor<1x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %z = arith.constant dense<0.0> : tensor<1x4xf32>
  %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%sum = %z) -> (tensor<1x4xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<1x4xf32>
    %next = arith.addf %sum, %row : tensor<1x4xf32>
    scf.yield %next : tensor<1x4xf32>
  }
  return %r : tensor<1x4xf32>
}

// -----

// Of several dimensions of one element, those that the type lacks stay so when an
// offset of the slice becomes a constant.

// CHECK-LABEL: func @dropped
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, %{{.*}}, 3] [1, 5, 1] [1, 1, 1] : tensor<2x6x6xi32> to tensor<1x5xi32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}, 3] [1, 5, 1] [1, 1, 1] : tensor<1x5xi32> into tensor<2x6x6xi32>
func.func @dropped(%x: tensor<2x6x6xi32>, %k: tensor<i32>) -> (tensor<1x5xi32>, tensor<2x6x6xi32>) {
  %c3 = arith.constant 3 : index
  %e = tensor.extract %k[] : tensor<i32>
  %i = arith.index_cast %e : i32 to index
  %0 = tensor.extract_slice %x[%i, %i, %c3] [1, 5, 1] [1, 1, 1] : tensor<2x6x6xi32> to tensor<1x5xi32>
  %1 = arith.addi %0, %0 : tensor<1x5xi32>
  %2 = tensor.insert_slice %1 into %x[%i, %i, %c3] [1, 5, 1] [1, 1, 1] : tensor<1x5xi32> into tensor<2x6x6xi32>
  return %0, %2 : tensor<1x5xi32>, tensor<2x6x6xi32>
}

// -----

// Nor does it matter where the constant comes from: here what covers all of a
// dimension begins at 0.

// CHECK-LABEL: func @dropped_whole
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, %{{.*}}, 0] [1, 5, 1] [1, 1, 1] : tensor<2x6x1xi32> to tensor<1x5xi32>
func.func @dropped_whole(%x: tensor<2x6x1xi32>, %k: tensor<i32>) -> tensor<1x5xi32> {
  %e = tensor.extract %k[] : tensor<i32>
  %i = arith.index_cast %e : i32 to index
  %0 = tensor.extract_slice %x[%i, %i, %i] [1, 5, 1] [1, 1, 1] : tensor<2x6x1xi32> to tensor<1x5xi32>
  return %0 : tensor<1x5xi32>
}

// -----

// What is inserted over all of a tensor is all of it.

// CHECK-LABEL: func @over_all
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>
// CHECK: %[[R:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] output_shape [1, 2, 8] : tensor<2x8xf32> into tensor<1x2x8xf32>
// CHECK: return %[[R]]
func.func @over_all(%x: tensor<2x8xf32>, %y: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
  %0 = tensor.insert_slice %x into %y[0, 0, 0] [1, 2, 8] [2, 1, 1] : tensor<2x8xf32> into tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: func @over_a_part
// CHECK: tensor.insert_slice
func.func @over_a_part(%x: tensor<1x8xf32>, %y: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
  %0 = tensor.insert_slice %x into %y[0, 1, 0] [1, 1, 8] [1, 1, 1] : tensor<1x8xf32> into tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// -----

// Padding that is cut off again is not made; where some is kept, it is.

// CHECK-LABEL: func @slices_of_padding
// CHECK-SAME: %[[X:.*]]: tensor<5x4xf32>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]]
// CHECK: %[[SOME:.*]] = tensor.extract_slice %[[X]][1, 0] [2, 4] [2, 1] : tensor<5x4xf32> to tensor<2x4xf32>
// CHECK: %[[EDGE:.*]] = tensor.extract_slice %[[PADDED]][0, 0] [5, 5] [1, 1]
// CHECK: return %[[X]], %[[SOME]], %[[EDGE]]
func.func @slices_of_padding(%x: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<2x4xf32>, tensor<5x5xf32>) {
  %c = arith.constant 1.0 : f32
  %p = tensor.pad %x low[0, 1] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<5x4xf32> to tensor<7x6xf32>
  %all = tensor.extract_slice %p[0, 1] [5, 4] [1, 1] : tensor<7x6xf32> to tensor<5x4xf32>
  %some = tensor.extract_slice %p[1, 1] [2, 4] [2, 1] : tensor<7x6xf32> to tensor<2x4xf32>
  %edge = tensor.extract_slice %p[0, 0] [5, 5] [1, 1] : tensor<7x6xf32> to tensor<5x5xf32>
  return %all, %some, %edge : tensor<5x4xf32>, tensor<2x4xf32>, tensor<5x5xf32>
}
