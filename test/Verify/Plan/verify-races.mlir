// RUN: weft-opt %s --weft-verify-races -split-input-file | FileCheck %s

// The gather flies beside a kernel that reads what it sends.

// CHECK-LABEL: func @step()
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @step() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  weft_rt.fused ins(%w : memref<4xf32>) outs(%n : memref<4xf32>) {
  ^bb0(%a0: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v0: f32, %o: f32):
      %q = arith.negf %v0 : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  } {weft.op = "kernel #1", weft_rt.values = array<i64: 0, 4>}
  weft_rt.wait %t
  weft_rt.fused ins(%g, %x : memref<8xf32>, memref<8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a0: tensor<8xf32>, %a1: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a0, %a1 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v0: f32, %v1: f32, %o: f32):
      %q = arith.addf %v0, %v1 : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "kernel #0", weft_rt.values = array<i64: 2, 1, 3>}
  weft_rt.fused ins(%w, %n : memref<4xf32>, memref<4xf32>) outs(%w : memref<4xf32>) {
  ^bb0(%a0: tensor<4xf32>, %a1: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a0, %a1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v0: f32, %v1: f32, %o: f32):
      %q = arith.addf %v0, %v1 : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  } {weft.op = "update w", weft_rt.values = array<i64: 0, 4, 5>}
  return
}

// -----

// Parts that interleave do not overlap.

// CHECK-LABEL: func @columns()
func.func @columns() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<4x8xf32>
  %left = weft_rt.view %a at 0 : memref<4x8xf32> to memref<4x2xf32, strided<[8, 1]>>
  %right = weft_rt.view %a at 2 : memref<4x8xf32> to memref<4x2xf32, strided<[8, 1]>>
  %last = weft_rt.view %a at 6 : memref<4x8xf32> to memref<4x2xf32, strided<[8, 1]>>
  weft_rt.fused ins(%last : memref<4x2xf32, strided<[8, 1]>>) outs(%left, %right : memref<4x2xf32, strided<[8, 1]>>, memref<4x2xf32, strided<[8, 1]>>) {
  ^bb0(%x: tensor<4x2xf32>):
    %e = tensor.empty() : tensor<4x2xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%p: f32, %o: f32):
      %q = arith.negf %p : f32
      linalg.yield %q : f32
    } -> tensor<4x2xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%p: f32, %o: f32):
      %q = math.absf %p : f32
      linalg.yield %q : f32
    } -> tensor<4x2xf32>
    weft_rt.yield %r, %s : tensor<4x2xf32>, tensor<4x2xf32>
  }
  return
}

// -----

// A kernel that needs the sum of a row before it overwrites the row.

// CHECK-LABEL: func @norm()
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @norm() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %m = weft_rt.view %g at 0 : memref<8xf32> to memref<2x4xf32>
  weft_rt.fused ins(%m : memref<2x4xf32>) outs(%m : memref<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4xf32>
    %e1 = tensor.empty() : tensor<2xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2xf32>) -> tensor<2xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<2x4xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<2x4xf32>) outs(%z : tensor<2xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.addf %v, %o : f32
      linalg.yield %q : f32
    } -> tensor<2xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sum : tensor<2x4xf32>, tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
    ^bb0(%v: f32, %w1: f32, %o: f32):
      %q = arith.divf %v, %w1 : f32
      linalg.yield %q : f32
    } -> tensor<2x4xf32>
    weft_rt.yield %d : tensor<2x4xf32>
  } {weft.op = "norm"}
  return
}

// -----

// The second op reads what the first one overwrites, in the same step: both wait
// for the sum of the row.

// CHECK-LABEL: func @same_step()
func.func @same_step() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %m = weft_rt.buffer arena 0 "m" : memref<2x4xf32>
  %k = weft_rt.buffer arena 64 "k" : memref<2x4xf32>
  weft_rt.fused ins(%m : memref<2x4xf32>) outs(%m, %k : memref<2x4xf32>, memref<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4xf32>
    %e1 = tensor.empty() : tensor<2xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2xf32>) -> tensor<2xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<2x4xf32>) outs(%z : tensor<2xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.addf %v, %o : f32
      linalg.yield %q : f32
    } -> tensor<2xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sum : tensor<2x4xf32>, tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %q = arith.divf %v, %w : f32
      linalg.yield %q : f32
    } -> tensor<2x4xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %sum : tensor<2x4xf32>, tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %q = arith.subf %v, %w : f32
      linalg.yield %q : f32
    } -> tensor<2x4xf32>
    weft_rt.yield %d, %s : tensor<2x4xf32>, tensor<2x4xf32>
  } {weft.op = "norm"}
  return
}
