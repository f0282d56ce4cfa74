// RUN: weft-opt %s --weft-verify-freshness -split-input-file -verify-diagnostics

// Joins that join nothing, or something else than they say.

func.func @nowhere() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %q = weft_rt.buffer arena 64 "q" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
    weft_rt.fused ins(%p : memref<4xf32>) outs(%q : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %z = arith.negf %v0 : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 0, 1>}
  // expected-error @+1 {{value 2 is one of two, but stands neither at the beginning of a loop's body nor after the loop, nor after a branch}}
  weft_rt.assemble %p value 2 from [0, 1] {weft_rt.join} : memref<4xf32>
  return
}

// -----

// The loop does not touch what is said to come from it.
func.func @after_another_loop() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %q = weft_rt.buffer arena 64 "q" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    weft_rt.fused ins(%x : memref<4xf32>) outs(%q : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %z = arith.negf %v0 : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 0, 1>}
  }
  // expected-error @+1 {{value 2 is nothing that the loop before it carries}}
  weft_rt.assemble %p value 2 from [0, 1] {weft_rt.join} : memref<4xf32>
  return
}

// -----

// A pass leaves what it got.
func.func @update_dropped() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %q = weft_rt.buffer arena 64 "q" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{the caller's 'x' gets there here}}
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{value 1 needs 'p' for what 'kernel' computes, but there is the caller's 'x'}}
  scf.for %i = %c0 to %c5 step %c1 {
    weft_rt.assemble %p value 1 from [0, 2] {weft_rt.join} : memref<4xf32>
    // expected-note @+1 {{what 'kernel' computes comes from here}}
    weft_rt.fused ins(%p : memref<4xf32>) outs(%q : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %z = arith.negf %v0 : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 1, 2>}
  }
  weft_rt.assemble %p value 3 from [0, 2] {weft_rt.join} : memref<4xf32>
  return
}

// -----

// The second block leaves nothing.
func.func @branch() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "c", local = tensor<i1>, global = tensor<i1>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %n = weft_rt.buffer argument 1 : memref<i1>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  // expected-note @+1 {{the caller's 'x' gets there here}}
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  %c = weft_rt.read_scalar %n[] {weft_rt.values = array<i64: 1>} : memref<i1>
  // expected-error @+1 {{value 4 needs 'p' for what 'other' computes, but there is the caller's 'x'}}
  scf.if %c {
    weft_rt.fused ins(%x : memref<4xf32>) outs(%p : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %z = arith.negf %v0 : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "kernel", weft_rt.values = array<i64: 0, 2>}
  }
  weft_rt.assemble %p value 4 from [2, 3] {weft_rt.join} : memref<4xf32>
  %q = weft_rt.buffer arena 64 "q" : memref<4xf32>
  // expected-note @+1 {{what 'other' computes comes from here}}
    weft_rt.fused ins(%x : memref<4xf32>) outs(%q : memref<4xf32>) {
    ^bb0(%a0: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%v0: f32, %o: f32):
        %z = arith.negf %v0 : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    } {weft.op = "other", weft_rt.values = array<i64: 0, 3>}
  return
}

// -----

// What the branch leaves is not all of what it computes.
#low = #weft_rt.part<begin = 0, sizes = [2], strides = [1]>
func.func @half() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>,
    #weft_rt.tensor<name = "c", local = tensor<i1>, global = tensor<i1>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %b = weft_rt.buffer argument 1 : memref<i1>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %c = weft_rt.read_scalar %b[] {weft_rt.values = array<i64: 1>} : memref<i1>
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  scf.if %c {
    weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 2>} : memref<4xf32> to memref<4xf32>
  }
  // expected-error @+1 {{value 3 is one of two, but not all of what 'weft_rt.copy' op computes}}
  weft_rt.assemble %p value 3 from [2, 0] {weft_rt.join, weft_rt.into = [#low, unit], weft_rt.parts = [#low, unit]} : memref<4xf32>
  return
}
