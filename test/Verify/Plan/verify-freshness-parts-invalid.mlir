// RUN: weft-opt %s --weft-verify-freshness -split-input-file -verify-diagnostics

#rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
func.func @shifted_view() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "rows", local = tensor<2x16xf32>, global = tensor<2x16xf32>, value = 0, part = <begin = 32, sizes = [2, 16], strides = [16, 1]>>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %rows = weft_rt.buffer result 0 "rows" : memref<2x16xf32>
  %0 = weft_rt.view %x at 36 : memref<8x16xf32> to memref<2x16xf32>
  // expected-error @+1 {{'weft_rt.copy' op reads bytes 144 to 272 of 'x' for a part of the caller's 'x', but other elements of it lie there}}
  weft_rt.copy %0 to %rows {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#rows, #rows]} : memref<2x16xf32> to memref<2x16xf32>
  return
}

// -----

// Who does not say which elements it takes, takes all.
func.func @silent() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "rows", local = tensor<2x16xf32>, global = tensor<2x16xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %rows = weft_rt.buffer result 0 "rows" : memref<2x16xf32>
  %0 = weft_rt.view %x at 32 : memref<8x16xf32> to memref<2x16xf32>
  // expected-error @+1 {{'weft_rt.copy' op has 'memref<2x16xf32>' for all of the caller's 'x', which is 'tensor<8x16xf32>'}}
  weft_rt.copy %0 to %rows {weft_rt.values = array<i64: 0, 0>} : memref<2x16xf32> to memref<2x16xf32>
  return
}

// -----

#columns = #weft_rt.part<begin = 8, sizes = [4, 4], strides = [16, 1]>
func.func @other_strides() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %i = arith.constant 3 : index
  %0 = weft_rt.view %x at 8 : memref<8x16xf32> to memref<4x4xf32, strided<[32, 1]>>
  // expected-error @+1 {{'weft_rt.read_scalar' op reads bytes 32 to 432 of 'x' for a part of the caller's 'x', but other elements of it lie there}}
  %1 = weft_rt.read_scalar %0[%i, %i] {weft_rt.values = array<i64: 0>, weft_rt.parts = [#columns]} : memref<4x4xf32, strided<[32, 1]>>
  return
}

// -----

// The first row stays where it is: it is not the one that data chooses.
#row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>
func.func @does_not_move() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "r", local = tensor<1x16xf32>, global = tensor<1x16xf32>, value = 0, part = <begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %r = weft_rt.buffer result 0 "r" : memref<1x16xf32>
  %0 = weft_rt.view %x at 0 : memref<8x16xf32> to memref<1x16xf32>
  // expected-error @+1 {{'weft_rt.copy' op reads bytes 0 to 64 of 'x' for a part of the caller's 'x', but other elements of it lie there}}
  weft_rt.copy %0 to %r {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#row, #row]} : memref<1x16xf32> to memref<1x16xf32>
  return
}

// -----

#rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
func.func @renamed_by_copy() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "rows", local = tensor<2x16xf32>, global = tensor<2x16xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %rows = weft_rt.buffer result 0 "rows" : memref<2x16xf32>
  %0 = weft_rt.view %x at 32 : memref<8x16xf32> to memref<2x16xf32>
  // expected-error @+1 {{'weft_rt.copy' op says that it writes all of value 0, but it writes another}}
  weft_rt.copy %0 to %rows {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#rows, unit]} : memref<2x16xf32> to memref<2x16xf32>
  return
}

// -----

#rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
func.func @computes_a_part() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<2x16xf32>, global = tensor<2x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "rows", local = tensor<2x16xf32>, global = tensor<2x16xf32>, value = 1>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<2x16xf32>
  %rows = weft_rt.buffer result 0 "rows" : memref<2x16xf32>
  // expected-error @+1 {{'weft_rt.copy' op says that it writes a part of value 1, but it writes all of it}}
  weft_rt.copy %x to %rows {weft_rt.values = array<i64: 0, 1>, weft_rt.parts = [unit, #rows]} : memref<2x16xf32> to memref<2x16xf32>
  return
}

// -----

#low = #weft_rt.part<begin = 0, sizes = [4, 16], strides = [16, 1]>
#high = #weft_rt.part<begin = 64, sizes = [4, 16], strides = [16, 1]>
func.func @exchanged_pieces() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "a", local = tensor<4x16xf32>, global = tensor<4x16xf32>>,
      #weft_rt.tensor<name = "b", local = tensor<4x16xf32>, global = tensor<4x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 2>]} {
  %a = weft_rt.buffer argument 0 "a" : memref<4x16xf32>
  %b = weft_rt.buffer argument 1 "b" : memref<4x16xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %0 = weft_rt.view %y at 0 : memref<8x16xf32> to memref<4x16xf32>
  %1 = weft_rt.view %y at 64 : memref<8x16xf32> to memref<4x16xf32>
  weft_rt.copy %a to %1 {weft_rt.values = array<i64: 0, 0>} : memref<4x16xf32> to memref<4x16xf32>
  // expected-note @+1 {{the caller's 'b' gets there here}}
  weft_rt.copy %b to %0 {weft_rt.values = array<i64: 1, 1>} : memref<4x16xf32> to memref<4x16xf32>
  // expected-error @+1 {{value 2 needs 'y' for a part of the caller's 'b', but other elements of it lie there}}
  weft_rt.assemble %y value 2 from [0, 1] {weft_rt.into = [#low, #high]} : memref<8x16xf32>
  return
}

// -----

// Both halves are of one value, but the first of them twice.
#low = #weft_rt.part<begin = 0, sizes = [4, 16], strides = [16, 1]>
#high = #weft_rt.part<begin = 64, sizes = [4, 16], strides = [16, 1]>
func.func @one_piece_twice() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "a", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 2>]} {
  %a = weft_rt.buffer argument 0 "a" : memref<8x16xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  // expected-note @+1 {{the caller's 'a' gets there here}}
  weft_rt.copy %a to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  // expected-error @+1 {{value 2 needs bytes 256 to 512 of 'y' for a part of the caller's 'a', but other elements of it lie there}}
  weft_rt.assemble %y value 2 from [0, 0] {weft_rt.parts = [#low, #low], weft_rt.into = [#low, #high]} : memref<8x16xf32>
  return
}

// -----

#rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
func.func @other_rows() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "b", local = tensor<2x16xf32>, global = tensor<2x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %b = weft_rt.buffer argument 1 "b" : memref<2x16xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %0 = weft_rt.view %y at 48 : memref<8x16xf32> to memref<2x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  // expected-note @+1 {{the caller's 'b' gets there here}}
  weft_rt.copy %b to %0 {weft_rt.values = array<i64: 1, 1>} : memref<2x16xf32> to memref<2x16xf32>
  // expected-error @+1 {{value 3 needs 'y' for a part of the caller's 'b', but other elements of it lie there}}
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #rows]} : memref<8x16xf32>
  return
}

// -----

#first = #weft_rt.part<begin = 0, sizes = [16], strides = [1]>
#outside = #weft_rt.part<begin = 120, sizes = [16], strides = [1]>
func.func @outside() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  // expected-error @+1 {{value 3 has no such elements as the caller's 'x' would have to become}}
  weft_rt.assemble %x value 3 from [0, 0] {weft_rt.into = [unit, #outside], weft_rt.parts = [unit, #first]} : memref<8x16xf32>
  return
}

// -----

func.func @other_result() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 0, part = <begin = 0, sizes = [4, 2], strides = [1, 4]>>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8xf32> to memref<8xf32>
  // expected-error @+1 {{the step gives 'y' for a part of other sizes}}
  return
}

// -----

func.func @later_elements() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 0, part = <begin = 4, sizes = [8], strides = [1]>>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8xf32>
  // expected-note @+1 {{the caller's 'x' gets there here}}
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8xf32> to memref<8xf32>
  // expected-error @+1 {{the step gives 'y' for a part of the caller's 'x', but other elements of it lie there}}
  return
}

// -----

// The first elements are not all.
func.func @shorter_product() attributes {weft_rt.arena_bytes = 256 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x8xf32>, global = tensor<8x8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x8xf32>, global = tensor<8x8xf32>, value = 1>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x8xf32>
  %0 = weft_rt.view %x at 0 : memref<8x8xf32> to memref<4x8xf32>
  // expected-error @+1 {{'matmul' has 'memref<4x8xf32>' for all of the caller's 'x', which is 'tensor<8x8xf32>'}}
  weft_rt.gemm %0, %0 into %y {weft.op = "matmul", weft_rt.values = array<i64: 0, 0, 1>,
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<4x8xf32>, memref<4x8xf32> into memref<8x8xf32>
  return
}

// -----

// Nor are they of what another op computes.
func.func @first_of_computed() attributes {weft_rt.arena_bytes = 256 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x8xf32>, global = tensor<8x8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4x8xf32>, global = tensor<4x8xf32>, value = 1>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x8xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<8x8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<4x8xf32>
  %0 = weft_rt.view %a at 0 : memref<8x8xf32> to memref<4x8xf32>
  weft_rt.copy %x to %a {weft.op = "first", weft_rt.values = array<i64: 0, 1>} : memref<8x8xf32> to memref<8x8xf32>
  // expected-error @+1 {{'second' has 'memref<4x8xf32>' for all of what 'first' computes, which is 'memref<8x8xf32>'}}
  weft_rt.copy %0 to %y {weft.op = "second", weft_rt.values = array<i64: 1, 1>} : memref<4x8xf32> to memref<4x8xf32>
  return
}

// -----

#low = #weft_rt.part<begin = 0, sizes = [4, 8], strides = [8, 1]>
func.func @first_as_result() attributes {weft_rt.arena_bytes = 0 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x8xf32>, global = tensor<8x8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4x8xf32>, global = tensor<4x8xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x8xf32>
  %y = weft_rt.buffer result 0 "y" : memref<4x8xf32>
  %0 = weft_rt.view %x at 0 : memref<8x8xf32> to memref<4x8xf32>
  weft_rt.copy %0 to %y {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#low, #low]} : memref<4x8xf32> to memref<4x8xf32>
  // expected-error @+1 {{the step has 'memref<4x8xf32>' for all of the caller's 'x', which is 'tensor<8x8xf32>'}}
  return
}

// -----

#low = #weft_rt.part<begin = 0, sizes = [4, 8], strides = [8, 1]>
#high = #weft_rt.part<begin = 32, sizes = [4, 8], strides = [8, 1]>
func.func @first_in_whole() attributes {weft_rt.arena_bytes = 256 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x8xf32>, global = tensor<8x8xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x8xf32>
  %y = weft_rt.buffer arena 0 "y" : memref<8x8xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x8xf32> to memref<8x8xf32>
  // expected-error @+1 {{'weft_rt.assemble' op has 'memref<4x8xf32>' for all of the caller's 'x', which is 'tensor<8x8xf32>'}}
  weft_rt.assemble %y value 1 from [0, 0] {weft_rt.into = [#low, #high], weft_rt.parts = [unit, #high]} : memref<8x8xf32>
  return
}

// -----

// What lies behind the first rows is not said.
#low = #weft_rt.part<begin = 0, sizes = [4, 8], strides = [8, 1]>
func.func @without_rows() attributes {weft_rt.arena_bytes = 256 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x8xf32>, global = tensor<8x8xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x8xf32>
  %y = weft_rt.buffer arena 0 "y" : memref<8x8xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x8xf32> to memref<8x8xf32>
  // expected-error @+1 {{value 1 is put together without 32 of its 64 elements}}
  weft_rt.assemble %y value 1 from [0] {weft_rt.into = [#low], weft_rt.parts = [#low]} : memref<8x8xf32>
  return
}

// -----

func.func @other_elements() attributes {weft_rt.arena_bytes = 0 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xi32>, global = tensor<8xi32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8xi32>
  %y = weft_rt.buffer result 0 "y" : memref<8xi32>
  // expected-error @+1 {{'weft_rt.copy' op has 'memref<8xi32>' for all of the caller's 'x', which is 'tensor<8xf32>'}}
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8xi32> to memref<8xi32>
  return
}

// -----

// A row is put in a place that data chooses: it is not the one that the plan names.
#row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>
func.func @stays_inside() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "z", local = tensor<8x16xf32>, global = tensor<8x16xf32>>, #weft_rt.tensor<name = "i", local = tensor<i64>, global = tensor<i64>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %z = weft_rt.buffer argument 1 "z" : memref<8x16xf32>
  %p = weft_rt.buffer argument 2 "i" : memref<i64>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %n = weft_rt.read_scalar %p[] {weft_rt.values = array<i64: 2>} : memref<i64>
  %i_any = arith.index_cast %n : i64 to index
  %i_end = arith.constant 113 : index
  %i = arith.remui %i_any, %i_end : index
  %0 = weft_rt.view %z at 0 plus %i : memref<8x16xf32> to memref<1x16xf32>
  %1 = weft_rt.view %y at 0 : memref<8x16xf32> to memref<1x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  // expected-note @+1 {{the caller's 'z' gets there here}}
  weft_rt.copy %0 to %1 {weft_rt.values = array<i64: 1, 1>, weft_rt.parts = [#row, #row]} : memref<1x16xf32> to memref<1x16xf32>
  // expected-error @+1 {{value 3 needs 'y' for a part of the caller's 'z', but other elements of it lie there}}
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #row], weft_rt.parts = [unit, #row]} : memref<8x16xf32>
  return
}

// -----

// Only half of the row that data chooses is written.
#row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>
#half = #weft_rt.part<begin = 0, sizes = [1, 8], strides = [8, 1]>
func.func @half_of_row() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "r", local = tensor<1x16xf32>, global = tensor<1x16xf32>>, #weft_rt.tensor<name = "i", local = tensor<i64>, global = tensor<i64>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %r = weft_rt.buffer argument 1 "r" : memref<1x16xf32>
  %p = weft_rt.buffer argument 2 "i" : memref<i64>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %n = weft_rt.read_scalar %p[] {weft_rt.values = array<i64: 2>} : memref<i64>
  %i_any = arith.index_cast %n : i64 to index
  %i_end = arith.constant 113 : index
  %i = arith.remui %i_any, %i_end : index
  %0 = weft_rt.view %r at 0 : memref<1x16xf32> to memref<1x8xf32>
  %1 = weft_rt.view %y at 0 plus %i : memref<8x16xf32> to memref<1x8xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  weft_rt.copy %0 to %1 {weft_rt.values = array<i64: 1, 1>, weft_rt.parts = [#half, #half]} : memref<1x8xf32> to memref<1x8xf32>
  // expected-error @+1 {{value 3 needs 'y', but not all of its parts have been put there, each once}}
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #row]} : memref<8x16xf32>
  return
}

// -----

// More rows than those that are put in.
#two = #weft_rt.part<begin = 0, sizes = [2, 16], strides = [16, 1]>
#four = #weft_rt.part<begin = 0, sizes = [4, 16], strides = [16, 1]>
func.func @more_rows() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "z", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %z = weft_rt.buffer argument 1 "z" : memref<8x16xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %0 = weft_rt.view %z at 0 : memref<8x16xf32> to memref<4x16xf32>
  %1 = weft_rt.view %y at 0 : memref<8x16xf32> to memref<4x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  // expected-note @+1 {{the caller's 'z' gets there here}}
  weft_rt.copy %0 to %1 {weft_rt.values = array<i64: 1, 1>, weft_rt.parts = [#four, #four]} : memref<4x16xf32> to memref<4x16xf32>
  // expected-error @+1 {{value 3 needs 'y' for a part of the caller's 'z', but other elements of it lie there}}
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #two], weft_rt.parts = [unit, #two]} : memref<8x16xf32>
  return
}

// -----

// A row is put in at two places.
#row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>
func.func @two_rows() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "r", local = tensor<1x16xf32>, global = tensor<1x16xf32>>, #weft_rt.tensor<name = "i", local = tensor<2xi64>, global = tensor<2xi64>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %r = weft_rt.buffer argument 1 "r" : memref<1x16xf32>
  %p = weft_rt.buffer argument 2 "i" : memref<2xi64>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = weft_rt.read_scalar %p[%c0] {weft_rt.values = array<i64: 2>} : memref<2xi64>
  %m = weft_rt.read_scalar %p[%c1] {weft_rt.values = array<i64: 2>} : memref<2xi64>
  %i_any = arith.index_cast %n : i64 to index
  %i_end = arith.constant 113 : index
  %i = arith.remui %i_any, %i_end : index
  %j_any = arith.index_cast %m : i64 to index
  %j_end = arith.constant 113 : index
  %j = arith.remui %j_any, %j_end : index
  %0 = weft_rt.view %y at 0 plus %i : memref<8x16xf32> to memref<1x16xf32>
  %1 = weft_rt.view %y at 0 plus %j : memref<8x16xf32> to memref<1x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  weft_rt.copy %r to %0 {weft_rt.values = array<i64: 1, 1>} : memref<1x16xf32> to memref<1x16xf32>
  weft_rt.copy %r to %1 {weft_rt.values = array<i64: 1, 1>} : memref<1x16xf32> to memref<1x16xf32>
  // expected-error @+1 {{value 3 needs 'y', but not all of its parts have been put there, each once}}
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #row]} : memref<8x16xf32>
  return
}
