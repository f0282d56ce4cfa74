// RUN: weft-opt %s --weft-plan-buffers | FileCheck %s
// RUN: weft-opt %s --weft-plan-buffers --weft-verify-races -o /dev/null

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// %r waits for a sum that %w does not wait for. So %w may not be written where %a
// lies, though both read it in the same way, and %x is donated for it.

// CHECK-LABEL: func @other_sum()
// CHECK-DAG: %[[X:.*]] = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
// CHECK-DAG: %[[W:.*]] = weft_rt.buffer arena 0 "two sums:0" : memref<8x16xf32>
// CHECK-DAG: %[[R:.*]] = weft_rt.buffer result 1 "result1" : memref<8x16xf32>
// CHECK: weft_rt.fused ins(%[[X]], {{.*}}) outs(%[[W]], %[[R]] :
// CHECK: weft_rt.fused ins(%[[W]] : memref<8x16xf32>) outs(%[[X]] : memref<8x16xf32>)
func.func @other_sum(%x: tensor<8x16xf32> {weft.name = "x"}, %b: tensor<8x16xf32>, %c: tensor<8x16xf32>)
    -> (tensor<8x16xf32> {weft.name = "x", weft.alias = 0 : index}, tensor<8x16xf32>) {
  %k:2 = weft_rt.fused ins(%x, %b, %c : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      -> tensor<8x16xf32>, tensor<8x16xf32> {
  ^bb0(%a: tensor<8x16xf32>, %p: tensor<8x16xf32>, %s: tensor<8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x16xf32>
    %e1 = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    %sump = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%p : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.addf %o, %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    %sums = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%s : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.addf %o, %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sump : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%v: f32, %t: f32, %o: f32):
      %q = arith.mulf %v, %t : f32
      linalg.yield %q : f32
    } -> tensor<8x16xf32>
    %r = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sums : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%v: f32, %t: f32, %o: f32):
      %q = arith.divf %v, %t : f32
      linalg.yield %q : f32
    } -> tensor<8x16xf32>
    weft_rt.yield %w, %r : tensor<8x16xf32>, tensor<8x16xf32>
  } {weft.op = "two sums"}
  return %k#0, %k#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
