// RUN: weft-opt %s --weft-assign-channels | FileCheck %s
// RUN: weft-opt %s --weft-assign-channels --weft-assign-channels | FileCheck %s

weft.mesh @mesh = <["dp"=2, "tp"=2]>

// CHECK: weft.channel @gather.dp on @mesh <{"dp"}> purpose gather
// CHECK: weft.channel @activation.tp on @mesh <{"tp"}> purpose activation
// CHECK-LABEL: func @step
// CHECK: weft.all_gather {{.*}} {channel = @gather.dp}
// CHECK: weft.all_to_all {{.*}} {channel = @activation.tp}
func.func @step(%w: tensor<4x8xf32>) -> tensor<16x4xf32> {
  %0 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = weft.all_to_all %0 on @mesh <{"tp"}> split [1] concat [0] : (tensor<8x8xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
