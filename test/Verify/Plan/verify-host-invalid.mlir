// RUN: weft-opt %s --weft-verify-plan --weft-verify-freshness --weft-verify-races -split-input-file -verify-diagnostics

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @read_by_a_kernel() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  weft_rt.fused ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 1>}
  %t = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%h : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @offload, weft.op = "offload h", weft_rt.values = array<i64: 1, 2>}
  weft_rt.wait %t
  // expected-error @+1 {{'use h' reads 's' in the host's memory, and is no copy from there}}
  weft_rt.fused ins(%s : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 2, 4>}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @written_by_a_kernel() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  // expected-error @+1 {{'make h' writes 's' in the host's memory, and is no copy to there}}
  weft_rt.fused ins(%x : memref<8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 2>}
  %u = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%s : memref<8xf32>) outs(%f : memref<8xf32>) {channel = @fetch, weft.op = "fetch h", weft_rt.values = array<i64: 2, 3>}
  weft_rt.wait %u
  weft_rt.fused ins(%f : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 3, 4>}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @offload_to_the_arena() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  weft_rt.fused ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 1>}
  // expected-error @+1 {{'offload h' writes 'o', which is not in the host's memory: it is a copy to there}}
  %t = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%h : memref<8xf32>) outs(%o : memref<8xf32>) {channel = @offload, weft.op = "offload h", weft_rt.values = array<i64: 1, 2>}
  weft_rt.wait %t
  weft_rt.fused ins(%o : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 2, 4>}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @fetch_from_the_arena() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  weft_rt.fused ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 1>}
  // expected-error @+1 {{'fetch h' reads 'h', which is not in the host's memory: it is a copy from there}}
  %u = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%h : memref<8xf32>) outs(%f : memref<8xf32>) {channel = @fetch, weft.op = "fetch h", weft_rt.values = array<i64: 1, 3>}
  weft_rt.wait %u
  weft_rt.fused ins(%f : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 3, 4>}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @past_the_end() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  // expected-error @+1 {{'z' ends at byte 160 of an arena of 128 bytes in the host's memory}}
  %z = weft_rt.buffer host 128 "z" : memref<8xf32>
  weft_rt.fused ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 1>}
  %t = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%h : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @offload, weft.op = "offload h", weft_rt.values = array<i64: 1, 2>}
  weft_rt.wait %t
  %u = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%s : memref<8xf32>) outs(%f : memref<8xf32>) {channel = @fetch, weft.op = "fetch h", weft_rt.values = array<i64: 2, 3>}
  weft_rt.wait %u
  weft_rt.fused ins(%f : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 3, 4>}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @both_at_one_place() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.host_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 4>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  %h = weft_rt.buffer arena 0 "h" : memref<8xf32>
  %f = weft_rt.buffer arena 64 "f" : memref<8xf32>
  %o = weft_rt.buffer arena 128 "o" : memref<8xf32>
  %s = weft_rt.buffer host 0 "s" : memref<8xf32>
  %z = weft_rt.buffer host 0 "z" : memref<8xf32>
  weft_rt.fused ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "make h", weft_rt.values = array<i64: 0, 1>}
  weft_rt.fused ins(%x : memref<8xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "other", weft_rt.values = array<i64: 0, 5>}
  // expected-note @+1 {{'s' is in use from here, 'offload h'}}
  %t = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%h : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @offload, weft.op = "offload h", weft_rt.values = array<i64: 1, 2>}
  // expected-error @+1 {{'offload h' begins to use 'z' at bytes 0 to 32 of the host's arena, where 's' at bytes 0 to 32 is still in use}}
  %p = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%o : memref<8xf32>) outs(%z : memref<8xf32>) {channel = @offload, weft.op = "offload h", weft_rt.values = array<i64: 5, 6>}
  weft_rt.wait %t
  weft_rt.wait %p
  %u = weft_rt.start <permute, mesh = @mesh, axes = <{}>, sources = [0]>
      ins(%s : memref<8xf32>) outs(%f : memref<8xf32>) {channel = @fetch, weft.op = "fetch h", weft_rt.values = array<i64: 2, 3>}
  // expected-note @+1 {{to here, 'weft_rt.wait' op}}
  weft_rt.wait %u
  weft_rt.fused ins(%f : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %w: f32):
      %q = arith.negf %v : f32
      linalg.yield %q : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  } {weft.op = "use h", weft_rt.values = array<i64: 3, 4>}
  return
}
