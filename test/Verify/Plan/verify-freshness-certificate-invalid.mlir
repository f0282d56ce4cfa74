// RUN: weft-opt %s --weft-verify-freshness -split-input-file -verify-diagnostics

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @no_ids() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{'update w' does not say which values it reads and writes}}
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
  } {weft.op = "update w"}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @computed_twice() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-note @+1 {{here}}
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
  // expected-error @+1 {{'update w' says that it computes value 4, which 'kernel #1' computes already}}
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
  } {weft.op = "update w", weft_rt.values = array<i64: 0, 4, 4>}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @computes_an_argument() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{'kernel #1' says that it computes the caller's 'x'}}
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
  } {weft.op = "kernel #1", weft_rt.values = array<i64: 0, 1>}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @from_nowhere() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 5>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %n = weft_rt.buffer arena 128 "new" : memref<4xf32>
  // expected-error @+1 {{'kernel #1' reads 'w' for value 77, which nothing computes}}
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
  } {weft.op = "kernel #1", weft_rt.values = array<i64: 77, 4>}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @forged_name() attributes {weft_rt.arena_bytes = 1024 : i64,
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
  // expected-error @+1 {{value 4 is put together here, but what 'kernel #1' computes is that value}}
  weft_rt.assemble %n value 4 from [4] : memref<4xf32>
  return
}

// -----

// A slice was to be set, and is not.
func.func @no_part() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<local = tensor<2xf32>, global = tensor<2xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %y = weft_rt.buffer argument 1 : memref<2xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %half = weft_rt.view %p at 0 : memref<4xf32> to memref<2xf32>
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  weft_rt.copy %y to %half {weft_rt.values = array<i64: 1, 1>} : memref<2xf32> to memref<2xf32>
  weft_rt.assemble %p value 2 from [0, 1] {weft_rt.into = [unit, #weft_rt.part<begin = 0, sizes = [2], strides = [1]>]} : memref<4xf32>
  // expected-error @+1 {{value 3 needs 'p', but not all of its parts have been put there, each once}}
  weft_rt.assemble %p value 3 from [2, 1] {weft_rt.into = [unit, #weft_rt.part<begin = 0, sizes = [2], strides = [1]>]} : memref<4xf32>
  return
}

// -----

// Of parts that are read the bytes are known; in which order is this.
func.func @transposed_read() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4x4xf32>, global = tensor<4x4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 2>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<4x4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4x4xf32>
  %t = weft_rt.view %a at 0 : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  %y = weft_rt.buffer result 0 "y" : memref<4x4xf32>
  // expected-note @below {{here they are 'memref<4x4xf32>'}}
  weft_rt.gemm %x, %x into %a {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      weft.op = "a", weft_rt.values = array<i64: 0, 0, 1>} : memref<4x4xf32>, memref<4x4xf32> into memref<4x4xf32>
  // expected-error @below {{'y' takes what 'a' computes as 'memref<4x4xf32, strided<[1, 4]>>', which has its elements in another order}}
  weft_rt.gemm %t, %x into %y {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      weft.op = "y", weft_rt.values = array<i64: 1, 0, 2>} : memref<4x4xf32, strided<[1, 4]>>, memref<4x4xf32> into memref<4x4xf32>
  return
}

// -----

// A copy has the number of what it copies, so it may not turn it.
func.func @transposing_copy() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4x4xf32>, global = tensor<4x4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<4x4xf32>
  %y = weft_rt.buffer result 0 "y" : memref<4x4xf32>
  %t = weft_rt.view %y at 0 : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error @below {{'cp' takes the caller's 'x' as 'memref<4x4xf32, strided<[1, 4]>>', which has its elements in another order}}
  weft_rt.fused ins(%x : memref<4x4xf32>) outs(%t : memref<4x4xf32, strided<[1, 4]>>) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %r : tensor<4x4xf32>
  } {weft.op = "cp", weft_rt.values = array<i64: 0, 0>}
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number 9223372036854775807 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value 9223372036854775807 from [0] : memref<4xf32>
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number 9223372036854775807 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value 5 from [0, 9223372036854775807] : memref<4xf32>
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number 9223372036854775806 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value 9223372036854775806 from [0] : memref<4xf32>
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number 9223372036854775806 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value 5 from [0, 9223372036854775806] : memref<4xf32>
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number -9223372036854775808 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value -9223372036854775808 from [0] : memref<4xf32>
  return
}

// -----

func.func @step() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.assemble' op puts value number -9223372036854775808 together, expected one from 0 on below 2^62}}
  weft_rt.assemble %0 value 5 from [0, -9223372036854775808] : memref<4xf32>
  return
}

// -----

// One number for two values.
func.func @assembled_twice() attributes {weft_rt.arena_bytes = 128 : i64, weft_rt.args = [#weft_rt.tensor<name = "a", local = tensor<4xf32>, global = tensor<4xf32>>,
    #weft_rt.tensor<name = "b", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4xf32>, global = tensor<4xf32>, value = 2>]} {
  %a = weft_rt.buffer argument 0 : memref<4xf32>
  %b = weft_rt.buffer argument 1 : memref<4xf32>
  %y = weft_rt.buffer result 0 "y" : memref<4xf32>
  // expected-note @+1 {{the first time is here}}
  weft_rt.assemble %a value 2 from [0] : memref<4xf32>
  weft_rt.copy %a to %y {weft_rt.values = array<i64: 2, 2>} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{value 2 is put together a second time}}
  weft_rt.assemble %b value 2 from [1] : memref<4xf32>
  return
}

// -----

// What nobody computes is no value, whatever the plan calls it.
func.func @undefined() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4xf32>, global = tensor<4xf32>, value = 1>]} {
  %x = weft_rt.buffer arena 0 "x" : memref<4xf32>
  %y = weft_rt.buffer result 0 "y" : memref<4xf32>
  weft_rt.assemble %x value 0 from [] : memref<4xf32>
  // expected-error @+1 {{'twice' reads 'x' for value 0, which is undefined}}
  weft_rt.fused ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %q = arith.addf %v, %v : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  } {weft.op = "twice", weft_rt.values = array<i64: 0, 1>}
  return
}
