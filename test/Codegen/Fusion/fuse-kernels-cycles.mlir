// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

#matrix = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// The kernel of %h1 and %h2 waits for %t, which comes after %n, which waits for
// that kernel. So what reads %n cannot join %t, though %n lies before it.

// CHECK-LABEL: func @group_before_waits_for_later
// CHECK: %[[T:.*]] = weft_rt.fused ins(%arg1 : tensor<8x8xf32>)
// CHECK: %[[H:.*]]:2 = weft_rt.fused
// CHECK: %[[N:.*]] = weft.matmul %[[H]]#0
// CHECK: %[[O:.*]] = weft_rt.fused ins(%[[N]], %[[T]] : tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK: return %[[H]]#1, %[[O]]
func.func @group_before_waits_for_later(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %h1 = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.negf %x : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  %n = weft.matmul %h1, %b {indexing_maps = [#lhs, #rhs, #out]}
      : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %t = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = math.exp %x : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  %h2 = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%a, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.mulf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  %o = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%n, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  return %h2, %o : tensor<8x8xf32>, tensor<8x8xf32>
}
