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
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @sums() {
    %a = weft_rt.buffer argument 0 : memref<64xf32>
    %b = weft_rt.buffer argument 1 : memref<64xf32>
    %s = weft_rt.buffer argument 2 : memref<f32>
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
    // expected-error @+1 {{'weft_rt.fused' op shares a launch, which only kernels of points can}}
    weft_rt.fused ins(%a : memref<64xf32>) outs(%s : memref<f32>) {
    ^bb0(%x: tensor<64xf32>):
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %r = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<64xf32>) outs(%z : tensor<f32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.addf %o, %v : f32
        linalg.yield %n : f32
      } -> tensor<f32>
      weft_rt.yield %r : tensor<f32>
    } {weft_rt.together = 0 : i64}
    return
  }
}
