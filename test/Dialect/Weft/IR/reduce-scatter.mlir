// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @reduce_scatter
func.func @reduce_scatter(%x0: tensor<8x64xf32>) -> tensor<2x64xf32> {
  // CHECK: weft.reduce_scatter sum %{{.*}} on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<2x64xf32>
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// CHECK-LABEL: func @grouped
func.func @grouped(%x0: tensor<8x64xf32>, %x1: tensor<8x64xf32>) -> (tensor<4x64xf32>, tensor<8x32xf32>) {
  // CHECK: weft.reduce_scatter max %{{.*}}, %{{.*}} on @mesh <{"dp"}> dims [0, 1] : (tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<4x64xf32>, tensor<8x32xf32>)
  %0:2 = weft.reduce_scatter max %x0, %x1 on @mesh <{"dp"}> dims [0, 1] : (tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<4x64xf32>, tensor<8x32xf32>)
  return %0#0, %0#1 : tensor<4x64xf32>, tensor<8x32xf32>
}
