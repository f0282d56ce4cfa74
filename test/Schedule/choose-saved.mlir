// RUN: weft-opt %s --weft-choose-saved=price=1000000000 | FileCheck %s
// RUN: weft-opt %s --weft-choose-saved | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="price=1000000000 share=0" | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="share=0 late-price=1000000000" | FileCheck %s
// RUN: not weft-opt %s --weft-choose-saved=machine=none.json 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: no machine 'none.json'

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// At no price, all is kept.
// KEPT-LABEL: func @chain
// KEPT-NOT: optimization_barrier
// KEPT-LABEL: func @gathers

// The first product waits for the last one, and its reader reads it through a
// view. What it is made of are arguments, which are there anyway.
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK: %[[FIRST:.*]] = weft.matmul %[[X]], %[[W]]
// CHECK: %[[SECOND:.*]] = weft.matmul %[[FIRST]], %[[W]]
// CHECK: %[[THIRD:.*]] = weft.matmul %[[SECOND]], %[[W]]
// CHECK: %[[B:.*]]:2 = weft.optimization_barrier %[[X]], %[[THIRD]]
// CHECK: %[[AGAIN:.*]] = weft.matmul %[[B]]#0, %[[W]]
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[AGAIN]]
// CHECK: %[[BACK:.*]] = tensor.collapse_shape %[[VIEW]]
// CHECK: weft.matmul %[[THIRD]], %[[BACK]]
func.func @chain(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %view = tensor.expand_shape %0 [[0, 1], [2]] output_shape [8, 8, 64] : tensor<64x64xf32> into tensor<8x8x64xf32>
  %back = tensor.collapse_shape %view [[0, 1], [2]] : tensor<8x8x64xf32> into tensor<64x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %back {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

// The weight of what is done again is gathered again anyway: that gather comes
// earlier, and there is no third one.
// CHECK-LABEL: func @gathers
// CHECK: weft.all_gather
// CHECK: weft.matmul
// CHECK: weft.matmul
// CHECK: %[[THIRD:.*]] = weft.matmul
// CHECK: %[[AGAIN:.*]] = weft.all_gather
// CHECK: %[[FIRST:.*]] = weft.matmul %{{.*}}, %[[AGAIN]]
// CHECK: %[[LAST:.*]] = weft.matmul %[[THIRD]], %[[FIRST]]
// CHECK-NOT: weft.all_gather
// CHECK: weft.matmul %[[LAST]], %[[AGAIN]]
func.func @gathers(%x: tensor<64x64xf32>, %w: tensor<32x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %g = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<32x64xf32>) -> tensor<64x64xf32>
  %0 = weft.matmul %x, %g {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = weft.matmul %0, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %1, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %h = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<32x64xf32>) -> tensor<64x64xf32>
  %4 = weft.matmul %3, %h {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
