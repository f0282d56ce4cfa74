// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @permute
func.func @permute(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: weft.permute %{{.*}} on @mesh <{"tp"}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: func @zeros
func.func @zeros(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: weft.permute %{{.*}} on @mesh <{"tp"}> sources [-1, 0, -1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [-1, 0, -1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
