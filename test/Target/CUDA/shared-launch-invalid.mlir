// RUN: weft-opt %s --weft-outline-kernels -split-input-file -verify-diagnostics

#id = affine_map<(i) -> (i)>
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @one_after_the_other() {
    %a = weft_rt.buffer argument 0 : memref<64xf32>
    %b = weft_rt.buffer argument 1 : memref<64xf32>
    weft_rt.fused ins(%a : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "a", weft_rt.together = 0 : i64}
    // expected-error @+1 {{'weft_rt.fused' op cannot be one launch with a kernel that touches the same bytes}}
    weft_rt.fused ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "b", weft_rt.together = 0 : i64}
    return
  }
}

// -----

#id = affine_map<(i) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @sums() {
    %a = weft_rt.buffer argument 0 : memref<4x32768xf32>
    %b = weft_rt.buffer argument 1 : memref<64xf32>
    %s = weft_rt.buffer argument 2 : memref<4x32768xf32>
    weft_rt.fused ins(%b : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "b", weft_rt.together = 0 : i64}
    // expected-error @+1 {{'weft_rt.fused' op shares a launch, and its blocks need more shared memory than those of a part may have}}
    weft_rt.fused ins(%a : memref<4x32768xf32>) outs(%s : memref<4x32768xf32>) {
    ^bb0(%x: tensor<4x32768xf32>):
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4xf32>
      %all = tensor.empty() : tensor<4x32768xf32>
      %n = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<4x32768xf32>) outs(%all : tensor<4x32768xf32>) {
      ^bb0(%v: f32, %o: f32):
        %q = arith.negf %v : f32
        linalg.yield %q : f32
      } -> tensor<4x32768xf32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
          ins(%n : tensor<4x32768xf32>) outs(%z : tensor<4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %q = arith.addf %o, %v : f32
        linalg.yield %q : f32
      } -> tensor<4xf32>
      %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%n, %r : tensor<4x32768xf32>, tensor<4xf32>) outs(%all : tensor<4x32768xf32>) {
      ^bb0(%v: f32, %t: f32, %o: f32):
        %q = arith.divf %v, %t : f32
        linalg.yield %q : f32
      } -> tensor<4x32768xf32>
      weft_rt.yield %y : tensor<4x32768xf32>
    } {weft_rt.together = 0 : i64}
    return
  }
}
