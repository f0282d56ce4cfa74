// RUN: weft-opt %s --weft-schedule="policy=sync machine=%S/Inputs/slow.json" | FileCheck %s

// A kernel writes where it reads, also if that was updated before: the table of
// zeros, the table with rows added to it, and the sum take the memory of one.
// Beside it is %y, which is as large: two of 128 bytes are alive at most. The
// arguments and the result take 264 bytes.

#id = affine_map<(m, n) -> (m, n)>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// CHECK: fixed_bytes = 264 : i64
// CHECK-SAME: peak_bytes = 520 : i64
func.func @update(%i: tensor<2xi32>, %x: tensor<2x4xf32>, %w: tensor<8x4xf32>, %left: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %zeros = weft_rt.fused ins(%w : tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %e = tensor.empty() : tensor<8x4xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%u: f32, %o: f32):
      %t = arith.subf %u, %u : f32
      linalg.yield %t : f32
    } -> tensor<8x4xf32>
    weft_rt.yield %s : tensor<8x4xf32>
  } {weft.op = "kernel #0"}
  %table = weft.scatter_add %zeros, %i, %x {axis = 0 : i64, table_map = affine_map<(i, j) -> (j)>, index_map = affine_map<(i, j) -> (i)>, weft.op = "scatter_add #0"} : tensor<8x4xf32>, tensor<2xi32>, tensor<2x4xf32>
  %y = weft_rt.fused ins(%w : tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %e = tensor.empty() : tensor<8x4xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%u: f32, %o: f32):
      %t = arith.addf %u, %u : f32
      linalg.yield %t : f32
    } -> tensor<8x4xf32>
    weft_rt.yield %s : tensor<8x4xf32>
  } {weft.op = "kernel #1"}
  %sum = weft_rt.fused ins(%table, %y : tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>):
    %e = tensor.empty() : tensor<8x4xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %t = arith.addf %u, %v : f32
      linalg.yield %t : f32
    } -> tensor<8x4xf32>
    weft_rt.yield %s : tensor<8x4xf32>
  } {weft.op = "kernel #2"}
  %r = weft.matmul %left, %sum {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
