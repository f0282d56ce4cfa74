// RUN: weft-opt %s --weft-verify-plan -split-input-file | FileCheck %s

// Two temporaries, one after the other in the same bytes, and a donated argument.

// CHECK-LABEL: func @step()
func.func @step() attributes {weft_rt.arena_bytes = 64 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "x", local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 0 "b" : memref<16xf32>
  %part = weft_rt.view %b at 12 : memref<16xf32> to memref<4xf32>
  weft_rt.copy %x to %a {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  weft_rt.copy %a to %x {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  weft_rt.copy %x to %part {weft_rt.values = array<i64: 0, 0>} : memref<4xf32> to memref<4xf32>
  return
}

// -----

// Temporaries of a loop's pass share bytes; what outlives it does not.

// CHECK-LABEL: func @loop()
func.func @loop() attributes {weft_rt.arena_bytes = 192 : i64, weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>>],
    weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4xf32>
  %a = weft_rt.buffer arena 0 "a" : memref<4xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<4xf32>
  %c = weft_rt.buffer arena 64 "c" : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  weft_rt.copy %x to %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c1 step %c1 {
    weft_rt.copy %a to %b : memref<4xf32> to memref<4xf32>
    weft_rt.copy %b to %a : memref<4xf32> to memref<4xf32>
    weft_rt.copy %a to %c : memref<4xf32> to memref<4xf32>
  }
  return
}
