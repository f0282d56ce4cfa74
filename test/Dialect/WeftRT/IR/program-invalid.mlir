// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @buffer_type_dynamic() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, but got 'memref<?xf32>'}}
  %0 = weft_rt.buffer arena 0 : memref<?xf32>
  return
}

// -----

func.func @buffer_type_strides() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, but got 'memref<8xf32, strided<[?]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xf32, strided<[?]>>
  return
}

// -----

func.func @buffer_type_element() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, but got 'memref<8xcomplex<f32>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xcomplex<f32>>
  return
}

// -----

func.func @buffer_c1_arena() {
  // expected-error @+1 {{'weft_rt.buffer' op has position 32, expected a multiple of 64}}
  %0 = weft_rt.buffer arena 32 : memref<8xf32>
  return
}

// -----

func.func @buffer_c1_argument() {
  // expected-error @+1 {{'weft_rt.buffer' op has position -1, expected a multiple of 1}}
  %0 = weft_rt.buffer argument -1 : memref<8xf32>
  return
}

// -----

func.func @view_c1(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op has a source of 'f32' and a result of 'i32'}}
  %0 = weft_rt.view %x at 0 : memref<8xf32> to memref<8xi32>
  return
}

// -----

func.func @gemm_c1_count(%x: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op has 1 maps, expected 3}}
  weft_rt.gemm %x, %x into %x {indexing_maps = [affine_map<(m, n, k) -> (m, k)>]} : memref<8x8xf32>, memref<8x8xf32> into memref<8x8xf32>
  return
}

// -----

func.func @gemm_c1_rank(%x: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op map #1 is affine_map<(d0, d1, d2) -> (d2)>, expected a projected permutation of 3 dims to 2}}
  weft_rt.gemm %x, %x into %x {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]} : memref<8x8xf32>, memref<8x8xf32> into memref<8x8xf32>
  return
}

// -----

func.func @start_c1(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has 2 outputs, expected 1}}
  %t = weft_rt.start "all_reduce" {} ins(%x : memref<8xf32>) outs(%x, %x : memref<8xf32>, memref<8xf32>) {channel = @c}
  return
}

// -----

func.func @start_c2(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has unknown collective 'broadcast'}}
  %t = weft_rt.start "broadcast" {} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

func.func @start_without_channel(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op requires attribute 'channel'}}
  %t = weft_rt.start "all_reduce" {} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

func.func @view_c2(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers elements 8 to 36 of a source of 32}}
  %0 = weft_rt.view %x at 8 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @view_c2_negative(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers elements -1 to 7 of a source of 32}}
  %0 = weft_rt.view %x at -1 : memref<4x8xf32> to memref<8xf32>
  return
}

// -----

func.func @values_type(%x: memref<i32>) {
  // expected-error @+1 {{'memref.load' op has 'weft_rt.values' = 3 : i64, expected array<i64: ...>}}
  %0 = memref.load %x[] {weft_rt.values = 3 : i64} : memref<i32>
  return
}

// -----

func.func @values_count(%x: memref<4xi32>) {
  %i = arith.constant 0 : index
  // expected-error @+1 {{'memref.load' op has 2 ids in 'weft_rt.values', expected 1}}
  %0 = memref.load %x[%i] {weft_rt.values = array<i64: 3, 4>} : memref<4xi32>
  return
}

// -----

func.func @reads_place(%x: memref<i32>) {
  // expected-error @+1 {{'memref.load' op has 'weft_rt.reads', which only 'weft_rt.scatter_add' may have}}
  %0 = memref.load %x[] {weft_rt.reads = array<i64: 3>} : memref<i32>
  return
}
