// RUN: weft-opt --weft-ring-attention=when=always --remarks-filter="weft-ring-attention" -split-input-file %s 2>&1 >/dev/null | FileCheck %s
// RUN: weft-opt --weft-ring-attention --remarks-filter="weft-ring-attention" -split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=AUTO
// RUN: weft-opt --weft-ring-attention="memory-limit=1" --remarks-filter="weft-ring-attention" -split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=LITTLE
// RUN: weft-opt --weft-ring-attention=when=balanced --remarks-filter="weft-ring-attention" -split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=BALANCED
// RUN: not weft-opt --weft-ring-attention=when=sometimes -split-input-file %s 2>&1 | FileCheck %s --check-prefix=OTHER

// RUN: not weft-opt --weft-ring-attention="when=always machine=abacus" -split-input-file %s 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: weft-opt --weft-ring-attention="when=always machine=h100x8" --remarks-filter="weft-ring-attention" %S/ring-attention-balance.mlir -split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=SMALL

// SMALL: keys travel around 2 ranks in 2 pieces of 4, as the fastest: a ring {{[0-9]+}} bytes and {{[0-9]+}} ns, a balanced ring {{[0-9]+}} bytes and {{[0-9]+}} ns
// MACHINE: error: {{.*}}abacus

// OTHER: error: has no ring attention 'sometimes', expected never, auto, always or balanced

// Which attention becomes a ring, and why others do not.

// CHECK: keys travel around 2 ranks in 2 pieces of 4
// CHECK: keys are gathered whole: what is dropped depends on a key's number
// CHECK: keys are gathered whole: a bias or a fill may leave a query keys whose log-sum-exp is too large to say how many they are
// CHECK: keys are gathered whole: keys or values are gathered, but not both
// CHECK: keys are gathered whole: its keys are added up in a declared order
// CHECK: keys are gathered whole: its log-sum-exp is not one of pieces
// CHECK: keys are gathered whole: dk is not summed over the ranks that keys are gathered from
// CHECK: keys travel around 2 ranks in 2 pieces of 4
// CHECK: keys travel around 2 ranks in 2 pieces of 4
// CHECK-NOT: keys
// AUTO: keys are gathered whole, as the fastest: gathered keys {{[0-9]+}} bytes and {{[0-9]+}} ns, a ring {{[0-9]+}} bytes and {{[0-9]+}} ns
// LITTLE: keys are gathered whole, as it needs least, and nothing fits: gathered keys

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @ring(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %out, %lse = weft.attention %q, %0, %0 {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @dropout(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %low: tensor<4xi32>) -> tensor<4x4xf32> {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %out, %lse = weft.attention %q, %0, %0 dropout %low, %low {config = #weft.attention<scale = 1.0 : f32, dropout = 0.5 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

#ij = affine_map<(i, j, d, e) -> (i, j)>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @fill(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %mask: tensor<4x8xi1>) -> tensor<4x4xf32> {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %out, %lse = weft.attention %q, %0, %0 mask %mask {config = #weft.attention<scale = 1.0 : f32, fill = -1.0e9 : f32>, indexing_maps = [#q, #k, #v, #ij, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xi1>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
weft.mesh @mesh = <["cp"=2]>
func.func @one_gathered(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %out, %lse = weft.attention %q, %0, %v {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %out : tensor<4x4xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["cp"], leaves = 8>} {
  weft.mesh @mesh = <["cp"=2]>
  func.func @invariant(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %out, %lse = weft.attention %q, %0, %0 {weft.order = #weft.order<leaves = 1>, config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    return %out : tensor<4x4xf32>
  }
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
!t = tensor<4x4xf32>
weft.mesh @mesh = <["cp"=2]>
func.func @lse_from_elsewhere(%q: !t, %k: !t, %lse: tensor<4xf32>) -> (!t) {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (!t) -> tensor<8x4xf32>
  %dq, %dk, %dv = weft.attention_grad %q, %0, %0, %q, %lse, %q {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!t, tensor<8x4xf32>, tensor<8x4xf32>, !t, tensor<4xf32>, !t) -> (!t, tensor<8x4xf32>, tensor<8x4xf32>)
  return %dq : !t
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
!t = tensor<4x4xf32>
weft.mesh @mesh = <["cp"=2]>
func.func @whole_sum(%q: !t, %k: !t, %lse: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (!t) -> tensor<8x4xf32>
  %dq, %dk, %dv = weft.attention_grad %q, %0, %0, %q, %lse, %q {config = #weft.attention<scale = 1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!t, tensor<8x4xf32>, tensor<8x4xf32>, !t, tensor<4xf32>, !t) -> (!t, tensor<8x4xf32>, tensor<8x4xf32>)
  return %dk : tensor<8x4xf32>
}

// -----

// The forward pass of a balanced ring, and a gradient whose queries begin
// elsewhere than the rank's keys: halves cannot be told.
// BALANCED: keys travel around 2 ranks in 2 balanced pieces of 4
// BALANCED: keys are gathered whole: its log-sum-exp is one of other pieces
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
!t = tensor<4x4xf32>
weft.mesh @mesh = <["cp"=2]>
func.func @other_start(%q: !t, %k: !t) -> (!t, !t) {
  %c4 = arith.constant 4 : index
  %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (!t) -> tensor<8x4xf32>
  %i = weft.axis_index @mesh <{"cp"}>
  %start = arith.muli %i, %c4 : index
  %out, %lse = weft.attention %q, %0, %0 start %start {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!t, tensor<8x4xf32>, tensor<8x4xf32>, index) -> (!t, tensor<4xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %0, %0, %out, %lse, %q start %i {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!t, tensor<8x4xf32>, tensor<8x4xf32>, !t, tensor<4xf32>, !t, index) -> (!t, tensor<8x4xf32>, tensor<8x4xf32>)
  return %out, %dq : !t, !t
}
