// RUN: weft-opt %s --weft-verify-plan -split-input-file -verify-diagnostics

// Ops that touch other bytes than their buffers say, as far as it is not their
// verifiers that see it.

func.func @strided_copy() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<4x4xf32>
  %b = weft_rt.buffer arena 64 : memref<4x2xf32>
  %v = weft_rt.view %a at 2 : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
  // expected-error @+1 {{'memref.copy' op copies 'memref<4x2xf32, strided<[4, 1]>>' to 'memref<4x2xf32>', but only dense buffers of one shape can be copied}}
  memref.copy %v, %b : memref<4x2xf32, strided<[4, 1]>> to memref<4x2xf32>
  return
}

// -----

func.func @store_behind() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = arith.constant 65 : index
  %x = arith.constant 7.0 : f32
  // expected-error @+1 {{'memref.store' op has subscript 65 in dim 0 of 'memref<16xf32>'}}
  memref.store %x, %a[%i] : memref<16xf32>
  return
}

// -----

func.func @load_before() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<16xf32>
  %i = arith.constant -1 : index
  // expected-error @+1 {{'memref.load' op has subscript -1 in dim 0 of 'memref<16xf32>'}}
  %x = memref.load %a[%i] : memref<16xf32>
  return
}

// -----

func.func @store_somewhere() attributes {weft_rt.arena_bytes = 256 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 : memref<4x4xindex>
  %i = arith.constant 1 : index
  %j = memref.load %a[%i, %i] : memref<4x4xindex>
  // expected-error @+1 {{'memref.store' op stores an element whose subscript #1 is not constant}}
  memref.store %i, %a[%i, %j] : memref<4x4xindex>
  return
}

// -----

func.func @scatter_into_other_rows() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %t = weft_rt.buffer arena 0 : memref<6x4xf32>
  %i = weft_rt.buffer arena 128 : memref<4xi32>
  %u = weft_rt.buffer arena 192 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x4xf32>' by indices of 'memref<4xi32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x4xf32>, memref<4xi32>, memref<4x8xf32>
  return
}

// -----

func.func @scatter_at_no_axis() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %t = weft_rt.buffer arena 0 : memref<6x8xf32>
  %i = weft_rt.buffer arena 192 : memref<4xi32>
  %u = weft_rt.buffer arena 256 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x8xf32>' by indices of 'memref<4xi32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 2 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x8xf32>, memref<4xi32>, memref<4x8xf32>
  return
}

// -----

func.func @scatter_by_floats() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %t = weft_rt.buffer arena 0 : memref<6x8xf32>
  %i = weft_rt.buffer arena 192 : memref<4xf32>
  %u = weft_rt.buffer arena 256 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x8xf32>' by indices of 'memref<4xf32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x8xf32>, memref<4xf32>, memref<4x8xf32>
  return
}
