// RUN: weft-opt %s --weft-verify-plan -split-input-file -verify-diagnostics

// Views that begin where data says are inside of their source, whatever the
// data is.

weft.mesh @mesh = <["x"=4]>
func.func @inside() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = weft_rt.buffer arena 64 : memref<i64>
  %0 = weft_rt.read_scalar %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %2 = arith.maxsi %1, %c0 : index
  %3 = arith.minsi %2, %c3 : index
  %4 = arith.muli %3, %c4 : index
  %v0 = weft_rt.view %a at 0 plus %4 : memref<16xf32> to memref<4xf32>
  %x = weft.axis_index @mesh <{"x"}>
  %5 = arith.muli %x, %c4 : index
  %v1 = weft_rt.view %a at 0 plus %5 : memref<16xf32> to memref<4xf32>
  %6 = arith.remui %1, %c4 : index
  %7 = arith.addi %6, %5 : index
  %v2 = weft_rt.view %a at 0 plus %7 : memref<16xf32> to memref<1xf32>
  %8 = arith.cmpi slt, %0, %0 : i64
  %9 = scf.if %8 -> index {
    scf.yield %c3 : index
  } else {
    scf.yield %6 : index
  }
  %v3 = weft_rt.view %a at 12 plus %9 : memref<16xf32> to memref<1xf32>
  scf.for %j = %c0 to %c4 step %c1 {
    %10 = arith.subi %c3, %j : index
    %v4 = weft_rt.view %a at 12 plus %10 : memref<16xf32> to memref<1xf32>
  }
  // By ranges, between -2 and 1; for each rank, between -1 and 1.
  %11 = arith.minsi %x, %c1 : index
  %12 = arith.subi %x, %c1 : index
  %13 = arith.maxsi %12, %c0 : index
  %14 = arith.subi %11, %13 : index
  %v6 = weft_rt.view %a at 1 plus %14 : memref<16xf32> to memref<14xf32>
  scf.for %j = %c0 to %c4 step %c1 {
    %15 = arith.subi %j, %j : index
    %v7 = weft_rt.view %a at 0 plus %15 : memref<16xf32> to memref<16xf32>
  }
  // The last pass that is begun has a counter of 2.
  scf.for %j = %c0 to %3 step %c2 {
    %v5 = weft_rt.view %a at 13 plus %j : memref<16xf32> to memref<1xf32>
  }
  return
}

// -----

func.func @as_data_says() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = weft_rt.buffer arena 64 : memref<i64>
  %0 = weft_rt.read_scalar %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  // expected-error @+1 {{'weft_rt.view' op begins 0 elements and between -9223372036854775808 and 9223372036854775807 more from the first on, and may leave its source of 16}}
  %v = weft_rt.view %a at 0 plus %1 : memref<16xf32> to memref<4xf32>
  return
}

// -----

func.func @far_away() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = weft_rt.buffer arena 64 : memref<i64>
  %0 = weft_rt.read_scalar %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %far = arith.constant 4611686018427387904 : index
  %2 = arith.maxsi %1, %c0 : index
  %3 = arith.minsi %2, %c12 : index
  %4 = arith.addi %3, %far : index
  // expected-error @+1 {{op begins 0 elements and between 4611686018427387904 and 4611686018427387916 more}}
  %v = weft_rt.view %a at 0 plus %4 : memref<16xf32> to memref<4xf32>
  return
}

// -----

// Four times this is 0 in 64 bits for a number of 0, and not for others.
func.func @beyond_64_bits() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = weft_rt.buffer arena 64 : memref<i64>
  %0 = weft_rt.read_scalar %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %far = arith.constant 9223372036854775804 : index
  %2 = arith.maxsi %1, %c0 : index
  %3 = arith.minsi %2, %c12 : index
  %4 = arith.addi %3, %far : index
  // expected-error @+1 {{op begins 0 elements and between -9223372036854775808 and 9223372036854775807 more}}
  %v = weft_rt.view %a at 0 plus %4 : memref<16xf32> to memref<4xf32>
  return
}

// -----

// One too many, and one too few.
func.func @one_off() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = weft_rt.buffer arena 64 : memref<i64>
  %0 = weft_rt.read_scalar %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %c13 = arith.constant 13 : index
  %2 = arith.remui %1, %c13 : index
  %v = weft_rt.view %a at 0 plus %2 : memref<16xf32> to memref<4xf32>
  // expected-error @+1 {{op begins 1 elements and between 0 and 12 more}}
  %w = weft_rt.view %a at 1 plus %2 : memref<16xf32> to memref<4xf32>
  return
}

// -----

func.func @before() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %0 = arith.subi %j, %c3 : index
    // expected-error @+1 {{op begins 2 elements and between -3 and 0 more}}
    %v = weft_rt.view %a at 2 plus %0 : memref<16xf32> to memref<1xf32>
  }
  return
}

// -----

// A sum that promises to stay in 64 bits is no number where it does not: a
// bound on it says nothing.
func.func @promise() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = arith.addi %c1, %c2 overflow<nsw> : index
  // expected-error @+1 {{op begins 0 elements and between -9223372036854775808 and 9223372036854775807 more}}
  %v = weft_rt.view %a at 0 plus %0 : memref<16xf32> to memref<4xf32>
  return
}

// -----

// A step that goes beyond 64 bits begins anew from below.
func.func @around() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %far = arith.constant 9223372036854775800 : index
  scf.for %j = %c0 to %c12 step %far {
    // expected-error @+1 {{op begins 0 elements and between -9223372036854775808 and 9223372036854775807 more}}
    %v = weft_rt.view %a at 0 plus %j : memref<16xf32> to memref<4xf32>
  }
  return
}

// -----

// The last rank begins before the source.
weft.mesh @mesh = <["x"=4]>
func.func @before() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = weft.axis_index @mesh <{"x"}>
  %0 = arith.minsi %x, %c1 : index
  %1 = arith.subi %x, %c1 : index
  %2 = arith.maxsi %1, %c0 : index
  %3 = arith.subi %0, %2 : index
  // expected-error @+1 {{op begins 0 elements and between -1 and 1 more from the first on, and may leave its source of 16}}
  %v = weft_rt.view %a at 0 plus %3 : memref<16xf32> to memref<14xf32>
  return
}
