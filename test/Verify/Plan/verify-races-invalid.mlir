// RUN: weft-opt %s --weft-verify-races -split-input-file -verify-diagnostics

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @read_too_early() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  // expected-note @+1 {{and waited for only here}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @written_while_written() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  // expected-error @+1 {{'kernel #2' writes 'gathered w' while 'all_gather w' is writing it}}
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
  // expected-note @+1 {{and waited for only here}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @written_while_sent() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  // expected-note @+1 {{'all_gather w' is started here}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  // expected-error @+1 {{'update w' writes 'w' while 'all_gather w' is still sending it}}
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
  // expected-note @+1 {{and waited for only here}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @part_of_it() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  %part = weft_rt.view %g at 2 : memref<8xf32> to memref<4xf32>
  // expected-error @+1 {{'half' reads bytes 8 to 24 of 'gathered w' before 'all_gather w' has arrived there ('gathered w')}}
  weft_rt.copy %part to %n {weft.op = "half"} : memref<4xf32> to memref<4xf32>
  // expected-note @+1 {{and waited for only here}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @another_channel() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  // expected-error @+1 {{'reduce_scatter g' reads 'gathered w' before 'all_gather w' has arrived there}}
  %u = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"tp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<8xf32>) outs(%n : memref<4xf32>) {channel = @data.tp, weft.op = "reduce_scatter g"}
  weft_rt.wait %u
  // expected-note @+1 {{and waited for only here}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @never() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{'all_gather w' is never waited for}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @twice() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  // expected-note @+1 {{it has been waited for here}}
  weft_rt.wait %t
  // expected-error @+1 {{'all_gather w' is waited for twice}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @in_a_branch() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-note @+1 {{it is started here}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<4xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  %c = arith.constant true
  scf.if %c {
    // expected-error @+1 {{'all_gather w' is not waited for in the block that starts it}}
    weft_rt.wait %t
  }
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @no_collective() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %t = arith.constant 3 : i64
  // expected-error @+1 {{the wait is for no collective of this program}}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @not_in_place() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{the all_to_all updates 'gathered w' in place, but reads elements that it has overwritten by then}}
  %t = weft_rt.start <all_to_all, mesh = @mesh, axes = <{"fsdp"}>, split_dims = [0], concat_dims = [0]>
      ins(%g : memref<8xf32>) outs(%g : memref<8xf32>) {channel = @gather.fsdp}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @overlapping_parts() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %a = weft_rt.view %g at 0 : memref<8xf32> to memref<4xf32>
  %b = weft_rt.view %g at 2 : memref<8xf32> to memref<4xf32>
  // expected-error @+1 {{'copy' reads bytes 0 to 16 of 'gathered w' and writes bytes 8 to 24 of 'gathered w', which overlap}}
  weft_rt.copy %a to %b {weft.op = "copy"} : memref<4xf32> to memref<4xf32>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @two_outputs() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{the all_gather writes 'gathered w' and 'gathered w', which overlap}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0, 0]>
      ins(%w, %n : memref<4xf32>, memref<4xf32>) outs(%g, %g : memref<8xf32>, memref<8xf32>) {channel = @gather.fsdp}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @transposed() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %m = weft_rt.view %n at 0 : memref<4xf32> to memref<2x2xf32>
  // expected-error @+1 {{'transpose' updates 'new' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%m : memref<2x2xf32>) outs(%m : memref<2x2xf32>) {
  ^bb0(%a: tensor<2x2xf32>):
    %e = tensor.empty() : tensor<2x2xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<2x2xf32>
    weft_rt.yield %r : tensor<2x2xf32>
  } {weft.op = "transpose"}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @second_pass() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  %m = weft_rt.view %g at 0 : memref<8xf32> to memref<2x4xf32>
  %k = weft_rt.view %s at 0 : memref<8xf32> to memref<2x4xf32>
  // expected-error @+1 {{'norm' updates 'gathered w' in place, but reads elements that it has overwritten by then}}
  weft_rt.fused ins(%m : memref<2x4xf32>) outs(%m, %k : memref<2x4xf32>, memref<2x4xf32>) {
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
    weft_rt.yield %r, %d : tensor<2x4xf32>, tensor<2x4xf32>
  } {weft.op = "norm"}
  return
}
