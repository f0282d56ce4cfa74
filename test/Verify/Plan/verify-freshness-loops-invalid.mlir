// RUN: weft-opt %s --weft-verify-freshness -split-input-file -verify-diagnostics

// In the second pass `p` no longer holds what was there before the loop.
func.func @second_pass() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    // expected-error @+2 {{'kernel' reads 'p' for the caller's 'x', but there is what 'kernel' computes}}
    // expected-note @+1 {{what 'kernel' computes gets there here}}
    weft_rt.fused ins(%p : memref<4xf32>) outs(%p : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %q = arith.negf %v0 : f32
        linalg.yield %q : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 0, 2>}
  }
  return
}

// -----

// What is put together behind a loop is not there because the loop is.
func.func @behind() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "y", local = tensor<2xf32>, global = tensor<2xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %q = weft_rt.buffer arena 64 "q" : memref<2xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  %y = weft_rt.buffer argument 1 : memref<2xf32>
  // expected-note @+1 {{the caller's 'x' gets there here}}
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    // expected-note @+1 {{what 'kernel' computes comes from here}}
    weft_rt.fused ins(%y : memref<2xf32>) outs(%q : memref<2xf32>) {
    ^bb0(%a0: tensor<2xf32>):
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<2xf32>) outs(%e : tensor<2xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %n = arith.negf %v0 : f32
        linalg.yield %n : f32
      } -> tensor<2xf32>
      weft_rt.yield %r : tensor<2xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 1, 2>}
  }
  // expected-error @+1 {{value 3 needs bytes 0 to 8 of 'p' for what 'kernel' computes, but there is the caller's 'x'}}
  weft_rt.assemble %p value 3 from [0, 2] {weft_rt.into = [#weft_rt.part<begin = 0, sizes = [4], strides = [1]>, #weft_rt.part<begin = 0, sizes = [2], strides = [1]>]} : memref<4xf32>
  return
}

// -----

// In the next pass the same number is another one.
func.func @last_passes_slice() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4x4xf32>, global = tensor<4x4xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4x4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4x4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %c = memref.get_global @c : memref<4xf32>
  // expected-note @+1 {{the caller's 'x' gets there here}}
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4x4xf32> to memref<4x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %o = arith.muli %i, %c4 : index
    %u = weft_rt.view %p at 0 plus %o : memref<4x4xf32> to memref<4xf32>
    // expected-error @+1 {{'read' reads some bytes of 'p' for what 'fill' computes, but there is the caller's 'x'}}
    %v = weft_rt.read_scalar %u[%c0] {weft.op = "read", weft_rt.values = array<i64: 1>} : memref<4xf32>
    // expected-note @+1 {{what 'fill' computes comes from here}}
    weft_rt.copy %c to %u {weft.op = "fill", weft_rt.values = array<i64: 1, 1>} : memref<4xf32> to memref<4xf32>
  }
  return
}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
