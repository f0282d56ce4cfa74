// RUN: weft-opt %s --weft-start-collectives | FileCheck %s
// RUN: weft-opt %s --weft-start-collectives --weft-start-collectives | FileCheck %s

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data

// CHECK-LABEL: func @grouped
// CHECK: %[[F:.*]]:2 = weft.all_reduce sum %arg0, %arg1 on @mesh <{"dp"}> {channel = @c} : (tensor<4xf32>, tensor<2xf32>) -> (!weft.future<tensor<4xf32>>, !weft.future<tensor<2xf32>>)
// CHECK-NEXT: %[[T:.*]]:2 = weft.wait %[[F]]#0, %[[F]]#1
// CHECK-NEXT: %[[G:.*]] = weft.all_gather %[[T]]#0 {{.*}} -> !weft.future<tensor<8xf32>>
// CHECK-NEXT: %[[U:.*]] = weft.wait %[[G]]
// CHECK-NEXT: return %[[U]], %[[T]]#1
func.func @grouped(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  %0:2 = weft.all_reduce sum %x, %y on @mesh <{"dp"}> {channel = @c} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  %1 = weft.all_gather %0#0 on @mesh <{"dp"}> dims [0] {channel = @c} : (tensor<4xf32>) -> tensor<8xf32>
  return %1, %0#1 : tensor<8xf32>, tensor<2xf32>
}
