// RUN: weft-opt --weft-ring-attention=when=always --canonicalize -split-input-file %s | FileCheck %s
// RUN: weft-opt --weft-ring-attention=when=never -split-input-file %s | FileCheck %s --check-prefix=NEVER
// RUN: weft-opt --weft-ring-attention -split-input-file %s | FileCheck %s --check-prefix=AUTO

// The piece of the next step is on its way before a step is computed, and the
// rank's own needs no start.
// CHECK-LABEL: func.func @causal
// CHECK-NOT: all_gather
// CHECK: %[[NEXT:.*]]:2 = weft.permute %{{.*}}, %{{.*}} on @mesh <{"cp"}> sources [1, 0]
// CHECK: %[[OUT:.*]], %[[SUM:.*]] = weft.attention %{{.*}}, %arg1, %arg2 {
// CHECK: %[[RANK:.*]] = weft.axis_index
// CHECK: %[[OTHER:.*]] = arith.remui
// CHECK: %[[AT:.*]] = arith.muli %[[OTHER]], %c4
// CHECK: %[[START:.*]] = arith.subi %{{.*}}, %[[AT]]
// CHECK: weft.attention %{{.*}}, %[[NEXT]]#0, %[[NEXT]]#1 start %[[START]]
// CHECK: arith.maximumf
// CHECK: math.log
// CHECK-NOT: = weft.attention
// NEVER-LABEL: func.func @causal
// NEVER-COUNT-2: weft.all_gather
// NEVER-NOT: weft.permute
// One permute of both takes less time than two gathers.
// AUTO-LABEL: func.func @causal
// AUTO-NOT: weft.all_gather
// AUTO: weft.permute
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @causal(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c4 = arith.constant 4 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = weft.all_gather %v on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c4 : index
  %out, %lse = weft.attention %q, %0, %1 start %start {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, index) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

// A window of five keys reaches into one piece before: of eight ranks' steps
// two are there.
// CHECK-LABEL: func.func @window
// CHECK: weft.permute {{.*}} sources [7, 0, 1, 2, 3, 4, 5, 6]
// CHECK-COUNT-2: = weft.attention {{.*}}
// CHECK-NOT: weft.permute
// CHECK-NOT: = weft.attention
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=8]>
func.func @window(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c4 = arith.constant 4 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<32x4xf32>
  %1 = weft.all_gather %v on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<32x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c4 : index
  %out, %lse = weft.attention %q, %0, %1 start %start {config = #weft.attention<scale = 1.0 : f32, left = 4, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>, index) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

// A window to both sides: the step of the piece after comes last, seven hops on
// from the first one, six from the second.
// CHECK-LABEL: func.func @both
// CHECK: weft.permute {{.*}} sources [7, 0, 1, 2, 3, 4, 5, 6]
// CHECK: weft.permute {{.*}} sources [2, 3, 4, 5, 6, 7, 0, 1]
// CHECK-NOT: weft.permute
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=8]>
func.func @both(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c4 = arith.constant 4 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<32x4xf32>
  %1 = weft.all_gather %v on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<32x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c4 : index
  %out, %lse = weft.attention %q, %0, %1 start %start {config = #weft.attention<scale = 1.0 : f32, left = 4, right = 2>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>, index) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

// The gradient of a piece takes its own log-sum-exp, and the gradient of outputs
// with a weight. What has only been added up travels, and ends where the piece
// came from.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[OUT0:.*]], %[[SUM0:.*]] = weft.attention
// CHECK: %[[OUT1:.*]], %[[SUM1:.*]] = weft.attention
// CHECK: %[[DQ0:.*]], %[[DK0:.*]], %[[DV0:.*]] = weft.attention_grad %{{.*}}, %arg1, %arg1, %{{.*}}, %[[SUM0]], %{{.*}} {
// CHECK: weft.permute %[[DK0]] on
// CHECK: weft.optimization_barrier %arg2, %[[DQ0]]
// CHECK: weft.attention_grad {{.*}}, %[[SUM1]], %{{.*}} {
// CHECK: %[[DK:.*]] = linalg.generic {{.*}}weft.order
// CHECK: weft.permute %[[DK]] on @mesh <{"cp"}> sources [1, 0]
// CHECK-NOT: reduce_scatter
// Of so few elements, gradients that travel take longer.
// AUTO-LABEL: func.func @gradient
// AUTO: weft.all_gather
// AUTO-NOT: weft.permute
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
!t = tensor<4x4xbf16>
weft.mesh @mesh = <["cp"=2]>
func.func @gradient(%q: !t, %k: !t, %dout: !t) -> (!t, !t) {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (!t) -> tensor<8x4xbf16>
  %out, %lse = weft.attention %q, %0, %0 {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!t, tensor<8x4xbf16>, tensor<8x4xbf16>) -> (!t, tensor<4xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %0, %0, %out, %lse, %dout {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!t, tensor<8x4xbf16>, tensor<8x4xbf16>, !t, tensor<4xf32>, !t) -> (!t, tensor<8x4xbf16>, tensor<8x4xbf16>)
  %1 = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [0] : (tensor<8x4xbf16>) -> !t
  return %dq, %1 : !t, !t
}
