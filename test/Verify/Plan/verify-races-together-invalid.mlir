// RUN: weft-opt %s --weft-verify-races -split-input-file -verify-diagnostics

// Kernels in a row that have one number may run at one time.

#id = affine_map<(i) -> (i)>
func.func @read() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
    %a = weft_rt.buffer arena 0 "a" : memref<64xf32>
    %b = weft_rt.buffer arena 256 "b" : memref<64xf32>
    // expected-note @+1 {{'first' is here}}
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
    } {weft.op = "first", weft_rt.together = 0 : i64}
    // expected-error @+1 {{'second' reads 'a', which 'first' writes in the same launch}}
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
    } {weft.op = "second", weft_rt.together = 0 : i64}
    return
}

// -----

#id = affine_map<(i) -> (i)>
func.func @written() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
    %a = weft_rt.buffer arena 0 "a" : memref<64xf32>
    %b = weft_rt.buffer arena 256 "b" : memref<64xf32>
    // expected-note @+1 {{'first' is here}}
    weft_rt.fused ins(%b : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "first", weft_rt.together = 0 : i64}
    // expected-error @+1 {{'second' writes 'b', which 'first' reads in the same launch}}
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
    } {weft.op = "second", weft_rt.together = 0 : i64}
    return
}

// -----

// Of other numbers, and after something else, they come one after the other.

#id = affine_map<(i) -> (i)>
func.func @ordered() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
    %a = weft_rt.buffer arena 0 "a" : memref<64xf32>
    %b = weft_rt.buffer arena 256 "b" : memref<64xf32>
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
    } {weft.op = "first", weft_rt.together = 0 : i64}
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
    } {weft.op = "second", weft_rt.together = 1 : i64}
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
    } {weft.op = "third", weft_rt.together = 0 : i64}
    weft_rt.copy %a to %b : memref<64xf32> to memref<64xf32>
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
    } {weft.op = "fourth", weft_rt.together = 0 : i64}
    return
}
