// RUN: weft-opt %s --weft-verify-freshness -split-input-file -verify-diagnostics

// gather/order-after-writer
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @gather_of_the_old_weight() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
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
  // expected-error @+1 {{'all_gather w' reads 'w' for what 'update w' computes, but there is the caller's 'w'}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 5, 2>}
  weft_rt.wait %t
  // expected-note @+1 {{what 'update w' computes comes from here}}
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

// gather/order-after-writer
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @gather_of_the_new_weight() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
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
  // expected-note @+1 {{what 'update w' computes gets there here}}
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
  // expected-error @+1 {{'all_gather w' reads 'w' for the caller's 'w', but there is what 'update w' computes}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  weft_rt.wait %t
  return
}

// -----

// gather/stale-guard
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @no_gather() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%s : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 7>}
  weft_rt.wait %t
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
  // expected-error @+1 {{'kernel #0' reads 'gathered w' for what 'kernel #2' computes, before all of it is there}}
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
  } {weft.op = "kernel #0", weft_rt.values = array<i64: 6, 1, 3>}
  // expected-note @+1 {{what 'kernel #2' computes comes from here}}
  weft_rt.fused ins(%x : memref<8xf32>) outs(%g : memref<8xf32>) {
  ^bb0(%a0: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v0: f32, %o: f32):
      %q = arith.negf %v0 : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "kernel #2", weft_rt.values = array<i64: 1, 6>}
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

// gather/stale-guard
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @not_arrived() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-note @+1 {{'all_gather w' is started here}}
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
  // expected-error @+1 {{'kernel #0' reads 'gathered w' before 'all_gather w' has arrived there}}
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
  weft_rt.wait %t
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

// The memory has another owner by then.
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @taken() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %big = weft_rt.buffer arena 0 "big" : memref<16xf32>
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  weft_rt.wait %t
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
  %cst = memref.get_global @c : memref<16xf32>
  // expected-note @+1 {{'fill' writes there}}
  weft_rt.copy %cst to %big {weft.op = "fill", weft_rt.values = array<i64: 8, 8>} : memref<16xf32> to memref<16xf32>
  // expected-error @+1 {{'kernel #0' reads 'gathered w', whose memory 'big' has taken over}}
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
memref.global "private" constant @c : memref<16xf32> = dense<1.0>

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @result_is_missing() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  weft_rt.wait %t
  // expected-note @+1 {{what 'update w' computes comes from here}}
  weft_rt.fused ins(%w, %w : memref<4xf32>, memref<4xf32>) outs(%n : memref<4xf32>) {
  ^bb0(%a0: tensor<4xf32>, %a1: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a0, %a1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v0: f32, %v1: f32, %o: f32):
      %q = arith.addf %v0, %v1 : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  } {weft.op = "update w", weft_rt.values = array<i64: 0, 0, 5>}
  // expected-error @+2 {{the step gives 'w' for what 'update w' computes, but there is the caller's 'w'}}

  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @parts_are_missing() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %half = weft_rt.view %g at 4 : memref<8xf32> to memref<4xf32>
  // expected-note @+1 {{what 'kernel #1' computes comes from here}}
  weft_rt.fused ins(%w : memref<4xf32>) outs(%half : memref<4xf32>) {
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
  // expected-error @+1 {{value 9 needs 'gathered w' for what 'kernel #1' computes, before all of it is there}}
  weft_rt.assemble %g value 9 from [4, 0] {weft_rt.into = [#weft_rt.part<begin = 4, sizes = [4], strides = [1]>, #weft_rt.part<begin = 0, sizes = [4], strides = [1]>]} : memref<8xf32>
  return
}

// -----

func.func @never_written() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = 0>]} {
  // expected-error @+1 {{the step never writes its result 0}}
  return
}

// -----

// A kernel that gives the second of two results copies nothing.
#rows = affine_map<(d0, d1) -> (d0, d1)>
func.func @second() attributes {weft_rt.arena_bytes = 0 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<2x4xf32>, global = tensor<2x4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<2x4xf32>, global = tensor<2x4xf32>, value = 0>]} {
  %0 = weft_rt.buffer argument 0 "x" : memref<2x4xf32>
  %1 = weft_rt.buffer result 0 "y" : memref<2x4xf32>
  // expected-error @+1 {{'kernel #0' says that it computes the caller's 'x'}}
  weft_rt.fused ins(%0 : memref<2x4xf32>) outs(%1 : memref<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %c = arith.constant 7.0 : f32
    %e = tensor.empty() : tensor<2x4xf32>
    %r:2 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x4xf32>) outs(%e, %e : tensor<2x4xf32>, tensor<2x4xf32>) {
    ^bb0(%in: f32, %o1: f32, %o2: f32):
      linalg.yield %in, %c : f32, f32
    } -> (tensor<2x4xf32>, tensor<2x4xf32>)
    weft_rt.yield %r#1 : tensor<2x4xf32>
  } {weft.op = "kernel #0", weft_rt.values = array<i64: 0, 0>}
  return
}
