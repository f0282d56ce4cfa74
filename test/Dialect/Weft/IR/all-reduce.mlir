// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @all_reduce
func.func @all_reduce(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: weft.all_reduce sum %{{.*}} on @mesh <{"dp", "tp"}> : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = weft.all_reduce sum %x0 on @mesh <{"dp", "tp"}> : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: func @scalar
func.func @scalar(%x0: tensor<f32>) -> tensor<f32> {
  // CHECK: weft.all_reduce min %{{.*}} on @mesh <{"dp"}> : (tensor<f32>) -> tensor<f32>
  %0 = weft.all_reduce min %x0 on @mesh <{"dp"}> : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @grouped
func.func @grouped(%x0: tensor<8x64xf32>, %x1: tensor<i1>) -> (tensor<8x64xf32>, tensor<i1>) {
  // CHECK: weft.all_reduce or %{{.*}}, %{{.*}} on @mesh <{"dp"}> : (tensor<8x64xf32>, tensor<i1>) -> (tensor<8x64xf32>, tensor<i1>)
  %0:2 = weft.all_reduce or %x0, %x1 on @mesh <{"dp"}> : (tensor<8x64xf32>, tensor<i1>) -> (tensor<8x64xf32>, tensor<i1>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<i1>
}
