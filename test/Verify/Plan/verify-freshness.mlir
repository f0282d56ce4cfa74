// RUN: weft-opt %s --weft-verify-freshness -split-input-file | FileCheck %s

// A weight is gathered, used and updated; it is the next step's argument.

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

// Columns that are computed by themselves, put together, and still read alone.

// CHECK-LABEL: func @columns()
func.func @columns() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4x2xf32>, global = tensor<4x2xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4x2xf32>, global = tensor<4x2xf32>, value = 1>, #weft_rt.tensor<local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 : memref<4x2xf32>
  %r = weft_rt.buffer result 0 : memref<4x2xf32>
  %q = weft_rt.buffer result 1 : memref<4x4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4x4xf32>
  %left = weft_rt.view %a at 0 : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
  %right = weft_rt.view %a at 2 : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
  %b = weft_rt.buffer arena 64 "b" : memref<4x2xf32>
  %c = memref.get_global @c : memref<4x2xf32>
  weft_rt.copy %c to %b {weft_rt.values = array<i64: 1, 1>} : memref<4x2xf32> to memref<4x2xf32>
  weft_rt.fused ins(%b : memref<4x2xf32>) outs(%left : memref<4x2xf32, strided<[4, 1]>>) {
  ^bb0(%a0: tensor<4x2xf32>):
    %e = tensor.empty() : tensor<4x2xf32>
    %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a0 : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%v0: f32, %o: f32):
      linalg.yield %v0 : f32
    } -> tensor<4x2xf32>
    weft_rt.yield %r0 : tensor<4x2xf32>
  } {weft_rt.values = array<i64: 1, 1>}
  weft_rt.fused ins(%x : memref<4x2xf32>) outs(%right : memref<4x2xf32, strided<[4, 1]>>) {
  ^bb0(%a0: tensor<4x2xf32>):
    %e = tensor.empty() : tensor<4x2xf32>
    %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a0 : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%v0: f32, %o: f32):
      linalg.yield %v0 : f32
    } -> tensor<4x2xf32>
    weft_rt.yield %r0 : tensor<4x2xf32>
  } {weft_rt.values = array<i64: 0, 0>}
  weft_rt.assemble %a value 3 from [1, 0] {weft_rt.into = [#weft_rt.part<begin = 0, sizes = [4, 2], strides = [4, 1]>,
      #weft_rt.part<begin = 2, sizes = [4, 2], strides = [4, 1]>]} : memref<4x4xf32>
  weft_rt.fused ins(%left : memref<4x2xf32, strided<[4, 1]>>) outs(%r : memref<4x2xf32>) {
  ^bb0(%a0: tensor<4x2xf32>):
    %e = tensor.empty() : tensor<4x2xf32>
    %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a0 : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%v0: f32, %o: f32):
      linalg.yield %v0 : f32
    } -> tensor<4x2xf32>
    weft_rt.yield %r0 : tensor<4x2xf32>
  } {weft_rt.values = array<i64: 1, 1>}
  weft_rt.copy %a to %q {weft_rt.values = array<i64: 3, 3>} : memref<4x4xf32> to memref<4x4xf32>
  return
}
memref.global "private" constant @c : memref<4x2xf32> = dense<1.0>

// -----

// What a loop carries is the first value or that of the pass before.

// CHECK-LABEL: func @loop()
func.func @loop() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %out = weft_rt.buffer result 0 : memref<4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    weft_rt.assemble %p value 1 from [0, 2] {weft_rt.join} : memref<4xf32>
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
    } {weft.op = "kernel", weft_rt.values = array<i64: 1, 2>}
  }
  weft_rt.assemble %p value 3 from [0, 2] {weft_rt.join} : memref<4xf32>
  weft_rt.copy %p to %out {weft_rt.values = array<i64: 3, 3>} : memref<4xf32> to memref<4xf32>
  return
}

// -----

// Rows that a loop sets at places that are known only when it runs; branches.

// CHECK-LABEL: func @rows()
func.func @rows() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4x4xf32>, global = tensor<4x4xf32>>, #weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<local = tensor<i1>, global = tensor<i1>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 6>]} {
  %x = weft_rt.buffer argument 0 : memref<4x4xf32>
  %y = weft_rt.buffer argument 1 : memref<4xf32>
  %n = weft_rt.buffer argument 2 : memref<i1>
  %r = weft_rt.buffer result 0 : memref<4x4xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4x4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4x4xf32> to memref<4x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    weft_rt.assemble %p value 3 from [0, 4] {weft_rt.join} : memref<4x4xf32>
    %o = arith.muli %i, %c4 : index
    %row = weft_rt.view %p at 0 plus %o : memref<4x4xf32> to memref<4xf32>
    weft_rt.copy %y to %row {weft_rt.values = array<i64: 1, 1>} : memref<4xf32> to memref<4xf32>
    weft_rt.assemble %p value 4 from [3, 1] {weft_rt.into = [unit, #weft_rt.part<begin = 0, sizes = [4], strides = [1], moves = true>]} : memref<4x4xf32>
  }
  weft_rt.assemble %p value 5 from [0, 4] {weft_rt.join} : memref<4x4xf32>
  %c = weft_rt.read_scalar %n[] {weft_rt.values = array<i64: 2>} : memref<i1>
  scf.if %c {
    weft_rt.copy %p to %r {weft_rt.values = array<i64: 5, 5>} : memref<4x4xf32> to memref<4x4xf32>
  } else {
    weft_rt.copy %x to %r {weft_rt.values = array<i64: 0, 0>} : memref<4x4xf32> to memref<4x4xf32>
  }
  weft_rt.assemble %r value 6 from [5, 0] {weft_rt.join} : memref<4x4xf32>
  return
}

// -----

// A slice at a place that is known only when it runs is updated there, and read
// as a whole and in part.

// CHECK-LABEL: func @slice()
weft.mesh @mesh = <["x"=2]>
func.func @slice() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4x4xf32>, global = tensor<4x4xf32>>, #weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, value = 2>]} {
  %x = weft_rt.buffer argument 0 : memref<4x4xf32>
  %y = weft_rt.buffer argument 1 : memref<4xf32>
  %r = weft_rt.buffer result 0 : memref<8xf32>
  %p = weft_rt.buffer arena 0 "p" : memref<4x4xf32>
  %c4 = arith.constant 4 : index
  weft_rt.copy %x to %p {weft_rt.values = array<i64: 0, 0>} : memref<4x4xf32> to memref<4x4xf32>
  %i = weft.axis_index @mesh <{"x"}>
  %o = arith.muli %i, %c4 : index
  %u = weft_rt.view %p at 0 plus %o : memref<4x4xf32> to memref<8xf32>
  %c = memref.get_global @c : memref<8xf32>
  weft_rt.copy %c to %u {weft_rt.values = array<i64: 2, 2>} : memref<8xf32> to memref<8xf32>
  %w = weft_rt.view %p at 0 plus %o : memref<4x4xf32> to memref<8xf32>
  weft_rt.copy %w to %r {weft_rt.values = array<i64: 2, 2>} : memref<8xf32> to memref<8xf32>
  %half = weft_rt.view %p at 4 plus %o : memref<4x4xf32> to memref<4xf32>
  %0 = weft_rt.read_scalar %half[%i] {weft_rt.values = array<i64: 2>, weft_rt.parts = [#weft_rt.part<begin = 4, sizes = [4], strides = [1]>]} : memref<4xf32>
  %more = arith.addi %o, %i : index
  %one = weft_rt.view %p at 0 plus %more : memref<4x4xf32> to memref<4xf32>
  %1 = weft_rt.read_scalar %one[%i] {weft_rt.values = array<i64: 2>, weft_rt.parts = [#weft_rt.part<begin = 0, sizes = [4], strides = [1], moves = true>]} : memref<4xf32>
  return
}
memref.global "private" constant @c : memref<8xf32> = dense<1.0>

// -----

// Where there are no elements there is no order of them.
func.func @nothing() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<5x0xf32>, global = tensor<5x0xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<5x5xf32>, global = tensor<5x5xf32>, value = 1>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<5x0xf32>
  %y = weft_rt.buffer result 0 "y" : memref<5x5xf32>
  weft_rt.gemm %x, %x into %y {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      weft.op = "y", weft_rt.values = array<i64: 0, 0, 1>} : memref<5x0xf32>, memref<5x0xf32> into memref<5x5xf32>
  return
}
