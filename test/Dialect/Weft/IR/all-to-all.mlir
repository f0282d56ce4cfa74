// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @all_to_all
func.func @all_to_all(%x0: tensor<8x64xf32>) -> tensor<32x16xf32> {
  // CHECK: weft.all_to_all %{{.*}} on @mesh <{"tp"}> split [1] concat [0] : (tensor<8x64xf32>) -> tensor<32x16xf32>
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [1] concat [0] : (tensor<8x64xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}

// CHECK-LABEL: func @same_dim
func.func @same_dim(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: weft.all_to_all %{{.*}} on @mesh <{"tp"}> split [0] concat [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
