// RUN: weft-opt --weft-ring-attention=when=balanced --canonicalize --cse -split-input-file %s | FileCheck %s
// RUN: weft-opt --weft-ring-attention="when=always machine=h100x8" --canonicalize --cse -split-input-file %s | FileCheck %s --check-prefix=ALWAYS

// Second halves of queries, keys and values are exchanged, and those of outputs
// are exchanged back. Rank 0 of two has the parts 0 and 3, and rank 1 the parts 2
// and 1. In the first step each pair of parts is seen on some rank; in the
// other one the first half of no rank sees the second half of the other's.
// CHECK-LABEL: func.func @causal
// CHECK-DAG: %[[Q:.*]] = tensor.extract_slice %arg0[0, 0] [2, 4]
// CHECK-DAG: %[[QS:.*]] = tensor.extract_slice %arg0[2, 0] [2, 4]
// CHECK-DAG: %[[K:.*]] = tensor.extract_slice %arg1[0, 0] [2, 4]
// CHECK-DAG: %[[KS:.*]] = tensor.extract_slice %arg1[2, 0] [2, 4]
// CHECK-DAG: %[[VS:.*]] = tensor.extract_slice %arg2[2, 0] [2, 4]
// CHECK: %[[GOT:.*]]:3 = weft.permute %[[KS]], %[[VS]], %[[QS]] on @mesh <{"cp"}> sources [1, 0]
// CHECK: %[[NEXT:.*]]:4 = weft.permute %[[K]], %{{.*}}, %[[GOT]]#0, %[[GOT]]#1 on @mesh <{"cp"}> sources [1, 0]
// CHECK: weft.attention %[[Q]], %[[K]], %{{.*}} {config
// CHECK: weft.attention %[[Q]], %[[GOT]]#0, %[[GOT]]#1 start
// CHECK: weft.attention %[[GOT]]#2, %[[K]], %{{.*}} start
// CHECK: weft.attention %[[GOT]]#2, %[[GOT]]#0, %[[GOT]]#1 {config
// CHECK: weft.attention %[[Q]], %[[NEXT]]#0, %[[NEXT]]#1 start
// CHECK: weft.attention %[[GOT]]#2, %[[NEXT]]#0, %[[NEXT]]#1 start
// CHECK: weft.attention %[[GOT]]#2, %[[NEXT]]#2, %[[NEXT]]#3 start
// CHECK-NOT: = weft.attention
// CHECK: %[[HOME:.*]] = weft.permute %{{[0-9]+}} on @mesh <{"cp"}> sources [1, 0]
// CHECK: tensor.concat dim(0) %{{.*}}, %[[HOME]]
// It takes longer than it spares: a rank has four queries.
// ALWAYS-LABEL: func.func @causal
// ALWAYS-COUNT-2: = weft.attention
// ALWAYS-NOT: = weft.attention
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

// Of a window each rank sees as much, and without a mask as well.
// CHECK-LABEL: func.func @window
// ALWAYS-LABEL: func.func @window
// CHECK-NOT: tensor.extract_slice
// CHECK-NOT: tensor.concat
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @window(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %c4 = arith.constant 4 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c4 : index
  %out, %lse = weft.attention %q, %0, %0 start %start {config = #weft.attention<scale = 1.0 : f32, left = 3, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, index) -> (tensor<4x4xf32>, tensor<4xf32>)
  %all, %sum = weft.attention %q, %0, %0 {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out, %all : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A part of three keys has no halves.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: tensor.extract_slice
// CHECK: return
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @odd(%q: tensor<3x4xf32>, %k: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %c3 = arith.constant 3 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<3x4xf32>) -> tensor<6x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c3 : index
  %out, %lse = weft.attention %q, %0, %0 start %start {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, index) -> (tensor<3x4xf32>, tensor<3xf32>)
  return %out : tensor<3x4xf32>
}
