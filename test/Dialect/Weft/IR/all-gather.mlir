// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @all_gather
func.func @all_gather(%x0: tensor<8x64xf32>) -> tensor<32x64xf32> {
  // CHECK: weft.all_gather %{{.*}} on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<32x64xf32>
  %0 = weft.all_gather %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}

// CHECK-LABEL: func @grouped
func.func @grouped(%x0: tensor<8x64xf32>, %x1: tensor<4xi8>) -> (tensor<8x512xf32>, tensor<32xi8>) {
  // CHECK: weft.all_gather %{{.*}}, %{{.*}} on @mesh <{"dp", "tp"}> dims [1, 0] : (tensor<8x64xf32>, tensor<4xi8>) -> (tensor<8x512xf32>, tensor<32xi8>)
  %0:2 = weft.all_gather %x0, %x1 on @mesh <{"dp", "tp"}> dims [1, 0] : (tensor<8x64xf32>, tensor<4xi8>) -> (tensor<8x512xf32>, tensor<32xi8>)
  return %0#0, %0#1 : tensor<8x512xf32>, tensor<32xi8>
}

// CHECK-LABEL: func @sub_axis
func.func @sub_axis(%x0: tensor<8x64xf32>) -> tensor<16x64xf32> {
  // CHECK: weft.all_gather %{{.*}} on @mesh <{"tp":(2)2}> dims [0] : (tensor<8x64xf32>) -> tensor<16x64xf32>
  %0 = weft.all_gather %x0 on @mesh <{"tp":(2)2}> dims [0] : (tensor<8x64xf32>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
