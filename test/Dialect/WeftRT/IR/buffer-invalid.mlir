// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @buffer_type_dynamic() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<?xf32>'}}
  %0 = weft_rt.buffer arena 0 : memref<?xf32>
  return
}

// -----

func.func @buffer_type_strides() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<8xf32, strided<[?]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xf32, strided<[?]>>
  return
}

// -----

func.func @buffer_type_element() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<8xcomplex<f32>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xcomplex<f32>>
  return
}

// -----

func.func @buffer_c1_arena() {
  // expected-error @+1 {{'weft_rt.buffer' op has position 32, expected a multiple of 64 below 2^56}}
  %0 = weft_rt.buffer arena 32 : memref<8xf32>
  return
}

// -----

func.func @buffer_c1_argument() {
  // expected-error @+1 {{'weft_rt.buffer' op has position -1, expected a multiple of 1 below 2^56}}
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

func.func @view_c2(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 28 elements from 8 on of a source of 32}}
  %0 = weft_rt.view %x at 8 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @view_c2_negative(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 8 elements from -1 on of a source of 32}}
  %0 = weft_rt.view %x at -1 : memref<4x8xf32> to memref<8xf32>
  return
}

// -----

func.func @buffer_type_negative() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[-4, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[-4, 1]>>
  return
}

// -----

func.func @buffer_type_shared() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[1, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[1, 1]>>
  return
}

// -----

func.func @buffer_type_overlapping() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[3, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[3, 1]>>
  return
}

// -----

func.func @buffer_type_zero() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[0, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[0, 1]>>
  return
}

// -----

func.func @buffer_type_large() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4611686018427387904xf32>'}}
  %0 = weft_rt.buffer arena 0 : memref<4611686018427387904xf32>
  return
}

// -----

func.func @buffer_type_product() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4294967296x4294967296xi8>'}}
  %0 = weft_rt.buffer arena 0 : memref<4294967296x4294967296xi8>
  return
}

// -----

func.func @buffer_type_span() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<2x2xf32, strided<[9223372036854775807, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<2x2xf32, strided<[9223372036854775807, 1]>>
  return
}

// -----

// Nothing lies in a buffer without elements, and dims of size 1 have no steps.
func.func @buffer_type_right() {
  %0 = weft_rt.buffer arena 0 : memref<0x4xf32, strided<[1, 1]>>
  %1 = weft_rt.buffer arena 0 : memref<1x4xf32, strided<[0, 1]>>
  %2 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[1, 4]>>
  return
}

// -----

func.func @buffer_c1_large() {
  // expected-error @+1 {{'weft_rt.buffer' op has position 9223372036854775744, expected a multiple of 64 below 2^56}}
  %0 = weft_rt.buffer arena 9223372036854775744 : memref<8xf32>
  return
}

// -----

func.func @view_c2_large(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 8 elements from 9223372036854775807 on of a source of 8}}
  %0 = weft_rt.view %x at 9223372036854775807 : memref<8xf32> to memref<8xf32>
  return
}
