// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

// Fusion makes nothing wait for a collective that it does not need.

#v = affine_map<(i) -> (i)>

weft.mesh @mesh = <["dp"=2]>

// Updates that share a rate do not wait for each other's gradients.

// CHECK-LABEL: func @updates
// CHECK: %[[A:.*]] = weft.all_reduce
// CHECK: %[[P:.*]] = weft_rt.fused ins({{.*}}%[[A]]{{.*}}) -> tensor<512xf32> {
// CHECK: %[[B:.*]] = weft.all_reduce
// CHECK: %[[Q:.*]] = weft_rt.fused ins({{.*}}%[[B]]{{.*}}) -> tensor<512xf32> {
// CHECK: return %[[P]], %[[Q]]
func.func @updates(%g: tensor<512xf32>, %h: tensor<512xf32>, %rate: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %e = tensor.empty() : tensor<512xf32>
  %0 = weft.all_reduce sum %g on @mesh <{"dp"}> : (tensor<512xf32>) -> tensor<512xf32>
  %p = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%0, %rate : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %r: f32, %o: f32):
    %2 = arith.mulf %x, %r : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %1 = weft.all_reduce sum %h on @mesh <{"dp"}> : (tensor<512xf32>) -> tensor<512xf32>
  %q = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%1, %rate : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %r: f32, %o: f32):
    %2 = arith.mulf %x, %r : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  return %p, %q : tensor<512xf32>, tensor<512xf32>
}

// -----

#v = affine_map<(i) -> (i)>

weft.mesh @mesh = <["dp"=2]>

// Of one grouped collective they come together, and are one kernel.

// CHECK-LABEL: func @grouped_updates
// CHECK: %[[A:.*]]:2 = weft.all_reduce
// CHECK: %[[P:.*]]:2 = weft_rt.fused ins({{.*}}) -> tensor<512xf32>, tensor<512xf32> {
// CHECK-NOT: weft_rt.fused
// CHECK: return %[[P]]#0, %[[P]]#1
func.func @grouped_updates(%g: tensor<512xf32>, %h: tensor<512xf32>, %rate: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %e = tensor.empty() : tensor<512xf32>
  %0:2 = weft.all_reduce sum %g, %h on @mesh <{"dp"}> : (tensor<512xf32>, tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>)
  %p = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%0#0, %rate : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %r: f32, %o: f32):
    %2 = arith.mulf %x, %r : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %q = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%0#1, %rate : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %r: f32, %o: f32):
    %2 = arith.mulf %x, %r : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  return %p, %q : tensor<512xf32>, tensor<512xf32>
}

// -----

#v = affine_map<(i) -> (i)>

weft.mesh @mesh = <["dp"=2]>

// What is gathered early is not computed beside what comes late, though they
// read the same operand.

// CHECK-LABEL: func @early_gather
// CHECK: %[[A:.*]] = weft.all_reduce
// CHECK: weft_rt.fused ins({{.*}}%[[A]]{{.*}}) -> tensor<512xf32> {
// CHECK: %[[W:.*]] = weft_rt.fused ins(%{{.*}} : tensor<512xf32>) -> tensor<512xf32> {
// CHECK: weft.all_gather %[[W]]
func.func @early_gather(%w: tensor<512xf32>, %g: tensor<512xf32>) -> (tensor<512xf32>, tensor<1024xf32>) {
  %e = tensor.empty() : tensor<512xf32>
  %0 = weft.all_reduce sum %g on @mesh <{"dp"}> : (tensor<512xf32>) -> tensor<512xf32>
  %late = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%0, %w : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %r: f32, %o: f32):
    %2 = arith.mulf %x, %r : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %early = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%w : tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %o: f32):
    %2 = math.exp %x : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %1 = weft.all_gather %early on @mesh <{"dp"}> dims [0] : (tensor<512xf32>) -> tensor<1024xf32>
  return %late, %1 : tensor<512xf32>, tensor<1024xf32>
}

// -----

#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

weft.mesh @mesh = <["dp"=2]>

// What only the group uses may wait with it: a row's sum, used again on the row.

// CHECK-LABEL: func @inside
// CHECK: %[[A:.*]] = weft.all_reduce
// CHECK: %[[P:.*]] = weft_rt.fused ins({{.*}}) -> tensor<64x256xf32> {
// CHECK-NOT: weft_rt.fused
// CHECK: return %[[P]]
func.func @inside(%x: tensor<64x256xf32>, %g: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = tensor.empty() : tensor<64x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x256xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%v: f32, %a: f32):
    %2 = arith.addf %v, %a : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  %0 = weft.all_reduce sum %g on @mesh <{"dp"}> : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %p = linalg.generic {indexing_maps = [#m, #m, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x, %sum : tensor<64x256xf32>, tensor<64x256xf32>, tensor<64xf32>) outs(%f : tensor<64x256xf32>) {
  ^bb0(%v: f32, %w: f32, %s: f32, %o: f32):
    %2 = arith.mulf %v, %s : f32
    %3 = arith.addf %2, %w : f32
    linalg.yield %3 : f32
  } -> tensor<64x256xf32>
  return %p : tensor<64x256xf32>
}
