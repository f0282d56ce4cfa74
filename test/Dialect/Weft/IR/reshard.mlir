// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @reshard
func.func @reshard(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: weft.reshard %{{.*}} from <@mesh, [{"dp"}, {}], partial = sum {"tp"}> to <@mesh, [{"dp"}, {"tp"}]> : tensor<8x64xf32>
  %0 = weft.reshard %x from <@mesh, [{"dp"}, {}], partial = sum {"tp"}> to <@mesh, [{"dp"}, {"tp"}]> : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
