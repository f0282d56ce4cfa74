// RUN: weft-opt %s --weft-share-launches --split-input-file | FileCheck %s

// Kernels in a row that may run at one time are one launch.

#id = affine_map<(i) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK-LABEL: func @rows
  func.func @rows() {
    %a = weft_rt.buffer argument 0 : memref<8xf32>
    %b = weft_rt.buffer argument 1 : memref<4xf32>
    %c = weft_rt.buffer arena 0 : memref<8xf32>
    %d = weft_rt.buffer arena 64 : memref<8xf32>
    // CHECK: ins(%[[A:.*]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
    // CHECK: {weft.op = "a", weft_rt.together = 0 : i64}
    weft_rt.fused ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) {
    ^bb0(%x: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      weft_rt.yield %r : tensor<8xf32>
    } {weft.op = "a"}
    // CHECK: {weft.op = "b", weft_rt.together = 0 : i64}
    weft_rt.fused ins(%b : memref<4xf32>) outs(%b : memref<4xf32>) {
    ^bb0(%x: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "b"}
    // It reads what the first one writes: a launch of its own, or the next one's.
    // CHECK: {weft.op = "c", weft_rt.together = 1 : i64}
    weft_rt.fused ins(%a : memref<8xf32>) outs(%c : memref<8xf32>) {
    ^bb0(%x: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      weft_rt.yield %r : tensor<8xf32>
    } {weft.op = "c"}
    // CHECK: {weft.op = "d", weft_rt.together = 1 : i64}
    weft_rt.fused ins(%a : memref<8xf32>) outs(%d : memref<8xf32>) {
    ^bb0(%x: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      weft_rt.yield %r : tensor<8xf32>
    } {weft.op = "d"}
    // CHECK: weft_rt.copy
    weft_rt.copy %a to %c : memref<8xf32> to memref<8xf32>
    // Nothing is beside it.
    // CHECK: {weft.op = "e"}
    weft_rt.fused ins(%b : memref<4xf32>) outs(%b : memref<4xf32>) {
    ^bb0(%x: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "e"}
    return
  }
}
