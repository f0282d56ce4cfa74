// RUN: weft-opt %s --weft-verify-deadlock -split-input-file -verify-diagnostics

// gather/deadlock-free
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @coordinate() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "n", local = tensor<4xindex>, global = tensor<8xindex>, sharding = <@mesh, [{"dp"}]>>, #weft_rt.tensor<name = "m", local = tensor<4xindex>, global = tensor<4xindex>, sharding = <@mesh, [{}]>>],
    weft_rt.results = []} {
  %n = weft_rt.buffer argument 0 : memref<4xindex>
  %m = weft_rt.buffer argument 1 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{what decides differs between ranks}}
  %i = weft.axis_index @mesh <{"tp"}>
  %c = arith.cmpi eq, %i, %c0 : index
  // expected-note @+1 {{the branch is here}}
  scf.if %c {
    // expected-error @+1 {{'all_reduce x' may hang: ranks 0 and 1 of a group along "tp" need not take the same branch}}
    %k = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %k
  }
  return
}

// -----

// gather/deadlock-free
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @temporary() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "n", local = tensor<4xindex>, global = tensor<8xindex>, sharding = <@mesh, [{"dp"}]>>, #weft_rt.tensor<name = "m", local = tensor<4xindex>, global = tensor<4xindex>, sharding = <@mesh, [{}]>>],
    weft_rt.results = []} {
  %n = weft_rt.buffer argument 0 : memref<4xindex>
  %m = weft_rt.buffer argument 1 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{what decides differs between ranks}}
  %b = weft_rt.read_scalar %t[%c0] : memref<4xindex>
  // expected-note @+1 {{the loop is here}}
  scf.for %i = %c0 to %b step %c1 {
    // expected-error @+1 {{'all_reduce x' may hang: ranks 0 and 1 of a group along "tp" need not go through this loop equally often}}
    %k = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %k
  }
  return
}

// -----

// A number that a loop carries.
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @carried() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "n", local = tensor<4xindex>, global = tensor<8xindex>, sharding = <@mesh, [{"dp"}]>>, #weft_rt.tensor<name = "m", local = tensor<4xindex>, global = tensor<4xindex>, sharding = <@mesh, [{}]>>],
    weft_rt.results = []} {
  %n = weft_rt.buffer argument 0 : memref<4xindex>
  %m = weft_rt.buffer argument 1 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = weft.axis_index @mesh <{"dp"}>
  // expected-note @+1 {{what decides differs between ranks}}
  %w = weft.axis_index @mesh <{"tp"}>
  %s = scf.for %i = %c0 to %v step %c1 iter_args(%a = %c0) -> index {
    %q = arith.addi %a, %w : index
    scf.yield %q : index
  }
  %c = arith.cmpi eq, %s, %c0 : index
  %b = scf.if %c -> index {
    scf.yield %c1 : index
  } else {
    scf.yield %c0 : index
  }
  // expected-note @+1 {{the loop is here}}
  scf.for %i = %c0 to %b step %c1 {
    // expected-error @+1 {{'all_reduce x' may hang: ranks 0 and 1 of a group along "tp" need not go through this loop equally often}}
    %k = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %k
  }
  return
}

// -----

// Where ranks read a table of constants differs.
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
memref.global "private" constant @c : memref<4xindex> = dense<[1, 2, 3, 4]>
func.func @table() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "n", local = tensor<4xindex>, global = tensor<8xindex>, sharding = <@mesh, [{"dp"}]>>],
    weft_rt.results = []} {
  %n = weft_rt.buffer argument 0 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = memref.get_global @c : memref<4xindex>
  weft_rt.copy %c to %t {weft_rt.values = array<i64: 1, 1>} : memref<4xindex> to memref<4xindex>
  // expected-note @+1 {{what decides differs between ranks}}
  %k = weft_rt.read_scalar %n[%c0] {weft_rt.values = array<i64: 0>} : memref<4xindex>
  %b = weft_rt.read_scalar %t[%k] {weft_rt.values = array<i64: 1>} : memref<4xindex>
  // expected-note @+1 {{the loop is here}}
  scf.for %i = %c0 to %b step %c1 {
    // expected-error @+1 {{'all_reduce x' may hang: ranks 0 and 2 of a group along "dp" need not go through this loop equally often}}
    %s = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.dp, weft.op = "all_reduce x"}
    weft_rt.wait %s
  }
  return
}
