// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// A softmax is one kernel: what its rows share is read once.

// CHECK-LABEL: func @softmax
// CHECK: %[[R:.*]] = weft_rt.fused ins(%{{.*}} : tensor<64x256xf32>) -> tensor<64x256xf32>
// CHECK-NOT: weft_rt.fused
// CHECK: return %[[R]]
func.func @softmax(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<64xf32>
  %e2 = tensor.empty() : tensor<64x256xf32>
  %i = linalg.fill ins(%low : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x256xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%v: f32, %a: f32):
    %m = arith.maximumf %a, %v : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  %exp = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<64x256xf32>, tensor<64xf32>) outs(%e2 : tensor<64x256xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %d = arith.subf %v, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<64x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<64x256xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%v: f32, %a: f32):
    %s = arith.addf %a, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<64x256xf32>, tensor<64xf32>) outs(%e2 : tensor<64x256xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %q = arith.divf %v, %s : f32
    linalg.yield %q : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

#vector = affine_map<(i) -> (i)>

// Ops that read the same operands are one kernel of several results.

// CHECK-LABEL: func @siblings
// CHECK: %[[R:.*]]:2 = weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>, tensor<512xf32>
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @siblings(%m: tensor<512xf32>, %g: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %e = tensor.empty() : tensor<512xf32>
  %a = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  %b = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%g, %g : tensor<512xf32>, tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  return %a, %b : tensor<512xf32>, tensor<512xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>

// What needs a sum of everything is another kernel than the sum.

// CHECK-LABEL: func @no_shared_rows
// CHECK: %[[S:.*]] = weft_rt.fused ins(%{{.*}} : tensor<64x256xf32>) -> tensor<f32>
// CHECK: weft_rt.fused ins(%[[S]], %{{.*}} : tensor<f32>, tensor<64x256xf32>) -> tensor<64x256xf32>
func.func @no_shared_rows(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e2 = tensor.empty() : tensor<64x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#matrix, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<64x256xf32>) outs(%z : tensor<f32>) {
  ^bb0(%v: f32, %a: f32):
    %s = arith.addf %a, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#matrix, #none, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<64x256xf32>, tensor<f32>) outs(%e2 : tensor<64x256xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %q = arith.divf %v, %s : f32
    linalg.yield %q : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

#vector = affine_map<(i) -> (i)>

// A scalar that is no constant comes with the launch.

// CHECK-LABEL: func @scalar
// CHECK-SAME: (%[[X:.*]]: tensor<512xf32>, %[[S:.*]]: f32)
// CHECK: weft_rt.fused ins(%[[X]] : tensor<512xf32>) scalars(%[[S]] : f32) -> tensor<512xf32> {
// CHECK-NEXT: ^bb0(%[[V:.*]]: tensor<512xf32>, %[[T:.*]]: f32):
// CHECK-NOT: tensor.extract
// CHECK: arith.mulf %{{.*}}, %[[T]] : f32
func.func @scalar(%x: tensor<512xf32>, %s: f32) -> tensor<512xf32> {
  %e = tensor.empty() : tensor<512xf32>
  %a = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%x : tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = arith.mulf %v, %s : f32
    linalg.yield %p : f32
  } -> tensor<512xf32>
  return %a : tensor<512xf32>
}

// -----

// Tensors of scalars are written by kernels.

// CHECK-LABEL: func @elements
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
// CHECK-NOT: tensor.from_elements
// CHECK: %[[ONE:.*]] = weft_rt.fused ins() scalars(%[[A]] : i32) -> tensor<i32>
// CHECK: %[[P:.*]] = weft_rt.fused ins() scalars(%[[A]] : i32) -> tensor<1xi32>
// CHECK: %[[Q:.*]] = weft_rt.fused ins() scalars(%[[B]] : i32) -> tensor<1xi32>
// CHECK: %[[ALL:.*]] = tensor.concat dim(0) %[[P]], %[[Q]]
// CHECK: %[[TWO:.*]] = tensor.expand_shape %[[ALL]] {{\[\[}}0, 1]] output_shape [2, 1] : tensor<2xi32> into tensor<2x1xi32>
// CHECK: return %[[ONE]], %[[TWO]]
func.func @elements(%a: i32, %b: i32) -> (tensor<i32>, tensor<2x1xi32>) {
  %one = tensor.from_elements %a : tensor<i32>
  %two = tensor.from_elements %a, %b : tensor<2x1xi32>
  return %one, %two : tensor<i32>, tensor<2x1xi32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// What two ops read together is small beside what each reads alone: one kernel
// of both would have to wait for all of it.

// CHECK-LABEL: func @small_and_together
// CHECK-COUNT-2: weft_rt.fused
// CHECK: return
func.func @small_and_together(%a: tensor<64x128xf32>, %b: tensor<64x128xf32>, %r: tensor<64xf32>)
    -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %r : tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %m = arith.mulf %u, %v : f32
    linalg.yield %m : f32
  } -> tensor<64x128xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %r : tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %m = arith.mulf %u, %v : f32
    linalg.yield %m : f32
  } -> tensor<64x128xf32>
  return %x, %y : tensor<64x128xf32>, tensor<64x128xf32>
}
