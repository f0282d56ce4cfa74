// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s --cse --canonicalize | FileCheck %s --check-prefix=APART

// CHECK-LABEL: func @optimization_barrier
// What is computed again stays apart from what was computed before.
// APART-LABEL: func @optimization_barrier
// APART-COUNT-2: math.tanh
func.func @optimization_barrier(%x: tensor<8x4xf32>, %g: tensor<6xi32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<6xi32>) {
  // CHECK: weft.optimization_barrier %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<6xi32>
  %0:2 = weft.optimization_barrier %x, %g : tensor<8x4xf32>, tensor<6xi32>
  %1 = math.tanh %x : tensor<8x4xf32>
  %2 = math.tanh %0#0 : tensor<8x4xf32>
  return %1, %2, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<6xi32>
}
