// RUN: weft-opt %s --weft-verify-deadlock -split-input-file | FileCheck %s

// Ranks along dp may differ in how often they go: those along tp do not.

// CHECK-LABEL: func @coordinate()
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
  %b = weft.axis_index @mesh <{"dp"}>
  scf.for %i = %c0 to %b step %c1 {
    %k = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %k
  }
  return
}

// -----

// CHECK-LABEL: func @argument()
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @argument() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "n", local = tensor<4xindex>, global = tensor<8xindex>, sharding = <@mesh, [{"dp"}]>>, #weft_rt.tensor<name = "m", local = tensor<4xindex>, global = tensor<4xindex>, sharding = <@mesh, [{}]>>],
    weft_rt.results = []} {
  %n = weft_rt.buffer argument 0 : memref<4xindex>
  %m = weft_rt.buffer argument 1 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = weft_rt.read_scalar %n[%c0] : memref<4xindex>
  scf.for %i = %c0 to %b step %c1 {
    %k = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %k
  }
  %d = weft_rt.read_scalar %m[%c0] : memref<4xindex>
  %c = arith.cmpi eq, %c0, %d : index
  scf.if %c {
    %l = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %l
  }
  return
}

// -----

// A table of constants that was copied: each rank finds the same number there.
// CHECK-LABEL: func @table()
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.tp on @mesh <{"tp"}> purpose data
memref.global "private" constant @c : memref<4xindex> = dense<[1, 2, 3, 4]>
func.func @table() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "m", local = tensor<4xindex>, global = tensor<4xindex>, sharding = <@mesh, [{}]>>],
    weft_rt.results = []} {
  %m = weft_rt.buffer argument 0 : memref<4xindex>
  %t = weft_rt.buffer arena 0 : memref<4xindex>
  %x = weft_rt.buffer arena 64 : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = memref.get_global @c : memref<4xindex>
  weft_rt.copy %c to %t {weft_rt.values = array<i64: 1, 1>} : memref<4xindex> to memref<4xindex>
  %k = weft_rt.read_scalar %m[%c0] {weft_rt.values = array<i64: 0>} : memref<4xindex>
  %b = weft_rt.read_scalar %t[%k] {weft_rt.values = array<i64: 1>} : memref<4xindex>
  scf.for %i = %c0 to %b step %c1 {
    %s = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
        ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @data.tp, weft.op = "all_reduce x"}
    weft_rt.wait %s
  }
  return
}
