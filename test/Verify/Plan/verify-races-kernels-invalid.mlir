// RUN: weft-opt %s --weft-verify-races -split-input-file -verify-diagnostics

// Updates in place that kernels may not make: docs/memory-plan.md.

// The same bytes, but another walk over them.

weft.mesh @mesh = <["fsdp"=2]>
func.func @transposed_view() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %t = weft_rt.view %x at 0 : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%x : memref<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %r0 : tensor<4x4xf32>
  } {weft.op = "kernel"}
  return
}

// -----

// A sum that goes on from another element.

weft.mesh @mesh = <["fsdp"=2]>
func.func @transposed_start() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %t = weft_rt.view %x at 0 : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%t, %y : memref<4x4xf32, strided<[1, 4]>>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %r0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%b : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.addf %o, %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %r0 : tensor<4x4xf32>
  } {weft.op = "kernel"}
  return
}

// -----

// The first reader waits for a sum that the writer does not wait for.

weft.mesh @mesh = <["fsdp"=2]>
func.func @first_but_late() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %n = weft_rt.buffer arena 192 "n" : memref<4x4xf32>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%x, %y : memref<4x4xf32>, memref<4x4xf32>) outs(%n, %x : memref<4x4xf32>, memref<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%b : tensor<4x4xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.addf %o, %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sum : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %r = arith.addf %i0, %i1 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %q, %w : tensor<4x4xf32>, tensor<4x4xf32>
  } {weft.op = "kernel"}
  return
}

// -----

// The reader has a loop more, if of one step only.

weft.mesh @mesh = <["fsdp"=2]>
func.func @one_more_loop() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %k = weft_rt.buffer arena 192 "k" : memref<4x4x1xf32>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%x : memref<4x4xf32>) outs(%x, %k : memref<4x4xf32>, memref<4x4x1xf32>) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %e3 = tensor.empty() : tensor<4x4x1xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(i, j, u) -> (i, j)>, affine_map<(i, j, u) -> (i, j, u)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e3 : tensor<4x4x1xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4x1xf32>
    weft_rt.yield %w, %q : tensor<4x4xf32>, tensor<4x4x1xf32>
  } {weft.op = "kernel"}
  return
}

// -----

// A sum without an order may have to wait for one with an order.

weft.mesh @mesh = <["fsdp"=2]>
func.func @sum_beside_ordered() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %s2 = weft_rt.buffer arena 192 "s2" : memref<4xf32>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%x, %y : memref<4x4xf32>, memref<4x4xf32>) outs(%x, %s, %s2 : memref<4x4xf32>, memref<4xf32>, memref<4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %suma = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<4x4xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.addf %o, %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %sumb = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%b : tensor<4x4xf32>) outs(%z : tensor<4xf32>) attrs = {weft.order = #weft.order<leaves = 1, lanes = 1>} {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.addf %o, %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %w, %suma, %sumb : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
  } {weft.op = "kernel"}
  return
}

// -----

// Steps of a sum write what another op may read later.

weft.mesh @mesh = <["fsdp"=2]>
func.func @sum_over_reader() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer arena 64 "y" : memref<4x4xf32>
  %s = weft_rt.buffer arena 128 "s" : memref<4xf32>
  %n = weft_rt.buffer arena 192 "n" : memref<4x4xf32>
  // expected-error @+1 {{'kernel' updates 'x' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%x, %y : memref<4x4xf32>, memref<4x4xf32>) outs(%x, %n : memref<4x4xf32>, memref<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %z2 = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.negf %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%b : tensor<4x4xf32>) outs(%z2 : tensor<4x4xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %r = arith.addf %o, %i0 : f32
      linalg.yield %r : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %w, %q : tensor<4x4xf32>, tensor<4x4xf32>
  } {weft.op = "kernel"}
  return
}
