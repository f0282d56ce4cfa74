// RUN: weft-opt %s --weft-verify-plan -split-input-file -verify-diagnostics

func.func @behind_the_arena() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{'y' ends at byte 128 of an arena of 64 bytes}}
  %y = weft_rt.buffer arena 64 "y" : memref<16xf32>
  return
}

// -----

func.func @no_such_argument() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  // expected-error @+1 {{'y' is argument 1 of a step with 1}}
  %y = weft_rt.buffer argument 1 "y" : memref<4xf32>
  return
}

// -----

func.func @wrong_size() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  // expected-error @+1 {{'w' has 32 bytes, but argument 0 has 16}}
  %y = weft_rt.buffer argument 0 : memref<8xf32>
  return
}

// -----

func.func @wrong_elements() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  // expected-error @+1 {{'w' has elements of 'i32', but argument 0 has 'f32'}}
  %y = weft_rt.buffer argument 0 : memref<4xi32>
  return
}

// -----

// expected-error @+1 {{result 0 is 'tensor<2xf32>', but lies in argument 0, which is 'tensor<4xf32>'}}
func.func @shorter_result() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<2xf32>, global = tensor<2xf32>, alias = 0, value = 0>]} {
  return
}

// -----

func.func @two_buffers() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  // expected-note @+1 {{the first is here}}
  %x = weft_rt.buffer argument 0 "x" : memref<4xf32>
  // expected-error @+1 {{'x' has two buffers}}
  %y = weft_rt.buffer argument 0 "x" : memref<4xf32>
  return
}

// -----

func.func @result_in_argument() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 0>]} {
  // expected-error @+1 {{result 0 lies in argument 0, it has no buffer of its own}}
  %y = weft_rt.buffer result 0 : memref<4xf32>
  return
}

// -----

// expected-error @+1 {{results 0 and 1 both lie in argument 0}}
func.func @donated_twice() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 0>, #weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 0>]} {
  return
}

// -----

func.func @callers_memory() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [#weft_rt.tensor<name = "tokens", local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %y = weft_rt.buffer arena 0 "y" : memref<4xf32>
  // expected-error @+1 {{'copy #0' writes 'tokens', which is the caller's and not donated}}
  weft_rt.copy %y to %x {weft.op = "copy #0"} : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @overlap() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<32xf32>, global = tensor<32xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<32xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<32xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<32xf32>
  // expected-note @+1 {{'a' is in use from here, 'first'}}
  weft_rt.copy %x to %a {weft.op = "first"} : memref<32xf32> to memref<32xf32>
  // expected-error @+1 {{'second' begins to use 'b' at bytes 64 to 192 of the arena, where 'a' at bytes 0 to 128 is still in use}}
  weft_rt.copy %x to %b {weft.op = "second"} : memref<32xf32> to memref<32xf32>
  // expected-note @+1 {{to here, 'third'}}
  weft_rt.copy %a to %b {weft.op = "third"} : memref<32xf32> to memref<32xf32>
  return
}

// -----

// What the collective sends may not be used again before the wait.
weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
func.func @in_flight() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 0 "b" : memref<4xf32>
  // expected-note @+1 {{'a' is in use from here, the all_reduce}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
      ins(%a : memref<4xf32>) outs(%a : memref<4xf32>) {channel = @data.dp}
  // expected-error @+1 {{'copy' begins to use 'b' at bytes 0 to 16 of the arena, where 'a' at bytes 0 to 16 is still in use}}
  weft_rt.copy %x to %b {weft.op = "copy"} : memref<4xf32> to memref<4xf32>
  // expected-note @+1 {{to here, 'weft_rt.wait' op}}
  weft_rt.wait %t
  return
}

// -----

// `a` is read in the next pass again.
func.func @loop() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 0 "b" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{'a' is in use from here, 'before'}}
  weft_rt.copy %x to %a {weft.op = "before"} : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-note @+1 {{to here, 'first'}}
    %v = weft_rt.read_scalar %a[%c0] {weft.op = "first"} : memref<4xf32>
    // expected-error @+1 {{'second' begins to use 'b'}}
    weft_rt.copy %x to %b {weft.op = "second"} : memref<4xf32> to memref<4xf32>
  }
  return
}

// -----

func.func @unknown() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{'memref.alloc' op has effects that the proofs do not know}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has 2 blocks, the proofs know programs of 1}}
func.func @blocks() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  cf.br ^next
^next:
  return
}

// -----

func.func @writes_a_constant() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %c = memref.get_global @c : memref<4xf32>
  weft_rt.copy %c to %a : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{'weft_rt.copy' op has a buffer, operand of type 'memref<4xf32>', that no 'weft_rt.buffer' op places}}
  weft_rt.copy %a to %c : memref<4xf32> to memref<4xf32>
  return
}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>

// -----

func.func @view_of_an_argument(%x: memref<4xf32>) attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{'weft_rt.view' op has a buffer, operand of type 'memref<4xf32>', that no 'weft_rt.buffer' op places}}
  %v = weft_rt.view %x at 0 : memref<4xf32> to memref<2xf32>
  return
}

// -----

weft.mesh @mesh = <["a"=4]>
// expected-error @+1 {{argument 0 has 3 elements on a rank along dim 0, expected 2 of 'tensor<5x6xf32>'}}
func.func @other_shard() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<3x6xf32>, global = tensor<5x6xf32>, sharding = <@mesh, [{"a"}, {}]>>], weft_rt.results = []} {
  return
}

// -----

weft.mesh @mesh = <["a"=4]>
// expected-error @+1 {{result 0 has 6 elements on a rank along dim 1, expected 4611686018427387904 of 'tensor<12x4611686018427387904xf32>'}}
func.func @not_all() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [#weft_rt.tensor<local = tensor<3x6xf32>, global = tensor<12x4611686018427387904xf32>, sharding = <@mesh, [{"a"}, {}]>, value = 0>]} {
  return
}
