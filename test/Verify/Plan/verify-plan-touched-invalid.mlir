// RUN: weft-opt %s --weft-verify-plan -split-input-file -verify-diagnostics

// Ops that touch other bytes than their buffers say, as far as it is not their
// verifiers that see it; and ops by which the program would look at the rank's
// memory itself.

func.func @read_before() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = arith.constant -1 : index
  // expected-error @+1 {{'weft_rt.read_scalar' op has subscript -1 in dim 0 of 'memref<16xf32>'}}
  %x = weft_rt.read_scalar %a[%i] : memref<16xf32>
  return
}

// -----

func.func @read_after() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<4x4xf32>
  %i = arith.constant 3 : index
  %j = arith.constant 4 : index
  // expected-error @+1 {{'weft_rt.read_scalar' op has subscript 4 in dim 1 of 'memref<4x4xf32>'}}
  %x = weft_rt.read_scalar %a[%i, %j] : memref<4x4xf32>
  return
}

// -----

func.func @load() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<f32>
  // expected-error @+1 {{'memref.load' op has effects that the proofs do not know}}
  %x = memref.load %a[] : memref<f32>
  return
}

// -----

func.func @store(%x: f32) attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<f32>
  // expected-error @+1 {{'memref.store' op has effects that the proofs do not know}}
  memref.store %x, %a[] : memref<f32>
  return
}

// -----

func.func @copy() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<4xf32>
  %b = weft_rt.buffer arena 64 : memref<4xf32>
  // expected-error @+1 {{'memref.copy' op has effects that the proofs do not know}}
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}
