// RUN: weft-opt %s --weft-verify-plan -split-input-file | FileCheck %s

// Two temporaries, one after the other in the same bytes, and a donated argument.

// CHECK-LABEL: func @step()
func.func @step() attributes {weft_rt.arena_bytes = 64 : i64,
    weft_rt.args = [{local = tensor<4xf32>, name = "x"}],
    weft_rt.results = [{local = tensor<4xf32>, name = "x", alias = 0 : index, value = 3 : i64}]} {
  %x = weft_rt.buffer argument 0 "x" : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 0 "b" : memref<16xf32>
  %part = weft_rt.view %b at 12 : memref<16xf32> to memref<4xf32>
  memref.copy %x, %a {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  memref.copy %a, %x {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  memref.copy %x, %part {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  return
}

// -----

// Temporaries of a loop's pass share bytes; what outlives it does not.

// CHECK-LABEL: func @loop()
func.func @loop() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.args = [{local = tensor<4xf32>}],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<4xf32>
  %c = weft_rt.buffer arena 64 "c" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c1 step %c1 {
    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
    memref.copy %a, %c : memref<4xf32> to memref<4xf32>
  }
  return
}
