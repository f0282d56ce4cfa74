// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s --emit-bytecode | weft-opt | FileCheck %s
// RUN: weft-opt %s --cse --canonicalize | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["fsdp"=2, "tp"=4]>
// CHECK: weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
// CHECK: weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
// CHECK: weft.channel @"data.tp:(2)2" on @mesh <{"tp":(2)2}> purpose data
weft.channel @"data.tp:(2)2" on @mesh <{"tp":(2)2}> purpose data
// CHECK: weft.channel @both on @mesh <{"fsdp", "tp"}> purpose expert_gather
weft.channel @both on @mesh <{"fsdp", "tp"}> purpose expert_gather
// CHECK: weft.channel @all on @mesh <{"tp"}> purpose activation
weft.channel @all on @mesh <{"tp"}> purpose activation
// CHECK: weft.channel @max on @mesh <{"tp"}> purpose amax
weft.channel @max on @mesh <{"tp"}> purpose amax
// CHECK: weft.channel @experts on @mesh <{"tp"}> purpose expert_reduce
weft.channel @experts on @mesh <{"tp"}> purpose expert_reduce

// CHECK-LABEL: func @started
func.func @started(%w: tensor<8xf32>, %v: tensor<8x4xbf16>) -> (tensor<16xf32>, tensor<16x4xbf16>) {
  // CHECK: %[[F:.*]]:2 = weft.all_gather %{{.*}}, %{{.*}} on @mesh <{"fsdp"}> dims [0, 0] {channel = @gather.fsdp, weft.op = "all_gather w"} : (tensor<8xf32>, tensor<8x4xbf16>) -> (!weft.future<tensor<16xf32>>, !weft.future<tensor<16x4xbf16>>)
  %0:2 = weft.all_gather %w, %v on @mesh <{"fsdp"}> dims [0, 0] {channel = @gather.fsdp, weft.op = "all_gather w"} : (tensor<8xf32>, tensor<8x4xbf16>) -> (!weft.future<tensor<16xf32>>, !weft.future<tensor<16x4xbf16>>)
  // CHECK: %[[T:.*]]:2 = weft.wait %[[F]]#0, %[[F]]#1 : !weft.future<tensor<16xf32>>, !weft.future<tensor<16x4xbf16>>
  %1:2 = weft.wait %0#0, %0#1 : !weft.future<tensor<16xf32>>, !weft.future<tensor<16x4xbf16>>
  // CHECK: return %[[T]]#0, %[[T]]#1
  return %1#0, %1#1 : tensor<16xf32>, tensor<16x4xbf16>
}

// Each collective can be started. What is started stays, used or not.
// CHECK-LABEL: func @kinds
func.func @kinds(%x: tensor<8x16xf32>) {
  // CHECK: weft.reduce_scatter sum %{{.*}} {channel = @reduce.fsdp} : (tensor<8x16xf32>) -> !weft.future<tensor<4x16xf32>>
  // CHECK-NEXT: weft.wait
  %0 = weft.reduce_scatter sum %x on @mesh <{"fsdp"}> dims [0] {channel = @reduce.fsdp} : (tensor<8x16xf32>) -> !weft.future<tensor<4x16xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<4x16xf32>>
  // CHECK: weft.all_reduce sum %{{.*}} {channel = @"data.tp:(2)2"} : (tensor<8x16xf32>) -> !weft.future<tensor<8x16xf32>>
  // CHECK-NEXT: weft.wait
  %2 = weft.all_reduce sum %x on @mesh <{"tp":(2)2}> {channel = @"data.tp:(2)2"} : (tensor<8x16xf32>) -> !weft.future<tensor<8x16xf32>>
  %3 = weft.wait %2 : !weft.future<tensor<8x16xf32>>
  // CHECK: weft.all_to_all %{{.*}} {channel = @all} : (tensor<8x16xf32>) -> !weft.future<tensor<32x4xf32>>
  // CHECK: weft.permute %{{.*}} {channel = @all} : (tensor<8x16xf32>) -> !weft.future<tensor<8x16xf32>>
  // CHECK-NEXT: weft.wait
  // CHECK-NEXT: weft.wait
  %4 = weft.all_to_all %x on @mesh <{"tp"}> split [1] concat [0] {channel = @all} : (tensor<8x16xf32>) -> !weft.future<tensor<32x4xf32>>
  %5 = weft.permute %x on @mesh <{"tp"}> sources [3, 0, 1, 2] {channel = @all} : (tensor<8x16xf32>) -> !weft.future<tensor<8x16xf32>>
  %6 = weft.wait %5 : !weft.future<tensor<8x16xf32>>
  %7 = weft.wait %4 : !weft.future<tensor<32x4xf32>>
  return
}

// A channel alone does not start a collective.
// CHECK-LABEL: func @not_started
func.func @not_started(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: weft.all_reduce max %{{.*}} on @mesh <{"tp"}> {channel = @max} : (tensor<8xf32>) -> tensor<8xf32>
  %0 = weft.all_reduce max %x on @mesh <{"tp"}> {channel = @max} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
