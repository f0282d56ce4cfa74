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
