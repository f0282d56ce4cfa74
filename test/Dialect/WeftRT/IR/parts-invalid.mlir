// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @place(%x: memref<4xi32>) {
  // expected-error @+1 {{'weft_rt.view' op has 'weft_rt.parts', which only an op that names values may have}}
  %y = weft_rt.view %x at 0 {weft_rt.parts = [unit]} : memref<4xi32> to memref<2xi32>
  return
}

// -----

func.func @into_place(%x: memref<i32>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 'weft_rt.into', which only an op that names values may have}}
  %0 = weft_rt.read_scalar %x[] {weft_rt.values = array<i64: 3>, weft_rt.into = [unit]} : memref<i32>
  return
}

// -----

func.func @count(%x: memref<i32>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 'weft_rt.parts' = [unit, unit], expected a list of 1 parts or units}}
  %0 = weft_rt.read_scalar %x[] {weft_rt.values = array<i64: 3>, weft_rt.parts = [unit, unit]} : memref<i32>
  return
}

// -----

func.func @type(%x: memref<8xi32>) {
  // expected-error @+1 {{'weft_rt.assemble' op has 'weft_rt.into' = [3], expected a list of 1 parts or units}}
  weft_rt.assemble %x value 3 from [0] {weft_rt.into = [3]} : memref<8xi32>
  return
}

// -----

#part = #weft_rt.part<begin = 3, sizes = [2], strides = [1]>
func.func @sizes(%x: memref<4xi32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has #weft_rt.part<begin = 3, sizes = [2], strides = [1]> in 'weft_rt.parts' for a buffer of sizes [4]}}
  %0 = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: 3>, weft_rt.parts = [#part]} : memref<4xi32>
  return
}

// -----

// expected-error @+1 {{no part begins at element -1 with sizes [2] and strides [1]: expected a stride for each size, no element twice, and all before 2^56}}
#part_c1 = #weft_rt.part<begin = -1, sizes = [2], strides = [1]>

// -----

// expected-error @+1 {{no part begins at element 0 with sizes [2, 4] and strides [1]: expected a stride for each size, no element twice, and all before 2^56}}
#part_c1 = #weft_rt.part<begin = 0, sizes = [2, 4], strides = [1]>

// -----

// expected-error @+1 {{no part begins at element 0 with sizes [2, 4] and strides [3, 1]: expected a stride for each size, no element twice, and all before 2^56}}
#part_c1 = #weft_rt.part<begin = 0, sizes = [2, 4], strides = [3, 1]>

// -----

// expected-error @+1 {{no part begins at element 0 with sizes [3] and strides [4611686018427387904]: expected a stride for each size, no element twice, and all before 2^56}}
#part_c1 = #weft_rt.part<begin = 0, sizes = [3], strides = [4611686018427387904]>
