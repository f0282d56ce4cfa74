// RUN: weft-opt %s --weft-verify-freshness | FileCheck %s

// Which elements of a value a buffer has is said by the ops, and where they are
// by the views.

#rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
#low = #weft_rt.part<begin = 0, sizes = [4, 16], strides = [16, 1]>
#high = #weft_rt.part<begin = 64, sizes = [4, 16], strides = [16, 1]>
#columns = #weft_rt.part<begin = 8, sizes = [8, 4], strides = [16, 1]>
#row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>

// CHECK-LABEL: func.func @slices
func.func @slices() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>],
    weft_rt.results = [
      #weft_rt.tensor<name = "rows", local = tensor<2x16xf32>, global = tensor<2x16xf32>, value = 0, part = <begin = 32, sizes = [2, 16], strides = [16, 1]>>,
      #weft_rt.tensor<name = "flat", local = tensor<128xf32>, global = tensor<128xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %rows = weft_rt.buffer result 0 "rows" : memref<2x16xf32>
  %flat = weft_rt.buffer result 1 "flat" : memref<128xf32>
  %i = arith.constant 3 : index
  %y = weft_rt.buffer arena 0 "y" : memref<8x16xf32>
  %0 = weft_rt.view %x at 32 : memref<8x16xf32> to memref<2x16xf32>
  %1 = weft_rt.view %y at 8 : memref<8x16xf32> to memref<8x4xf32, strided<[16, 1]>>
  %2 = weft_rt.view %y at 0 : memref<8x16xf32> to memref<128xf32>
  // CHECK: weft_rt.copy {{.*}}weft_rt.parts = [#weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
  weft_rt.copy %0 to %rows {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#rows, #rows]} : memref<2x16xf32> to memref<2x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  %3 = weft_rt.read_scalar %1[%i, %i] {weft_rt.values = array<i64: 0>, weft_rt.parts = [#columns]} : memref<8x4xf32, strided<[16, 1]>>
  weft_rt.copy %2 to %flat {weft_rt.values = array<i64: 0, 0>} : memref<128xf32> to memref<128xf32>
  return
}

// CHECK-LABEL: func.func @pieces
func.func @pieces() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "a", local = tensor<4x16xf32>, global = tensor<4x16xf32>>,
      #weft_rt.tensor<name = "b", local = tensor<2x16xf32>, global = tensor<2x16xf32>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %a = weft_rt.buffer argument 0 "a" : memref<4x16xf32>
  %b = weft_rt.buffer argument 1 "b" : memref<2x16xf32>
  %y = weft_rt.buffer result 0 "y" : memref<8x16xf32>
  %0 = weft_rt.view %y at 0 : memref<8x16xf32> to memref<4x16xf32>
  %1 = weft_rt.view %y at 64 : memref<8x16xf32> to memref<4x16xf32>
  %2 = weft_rt.view %y at 32 : memref<8x16xf32> to memref<2x16xf32>
  weft_rt.copy %a to %0 {weft_rt.values = array<i64: 0, 0>} : memref<4x16xf32> to memref<4x16xf32>
  weft_rt.copy %a to %1 {weft_rt.values = array<i64: 0, 0>} : memref<4x16xf32> to memref<4x16xf32>
  // CHECK: weft_rt.assemble
  weft_rt.assemble %y value 2 from [0, 0] {weft_rt.into = [#low, #high]} : memref<8x16xf32>
  weft_rt.copy %b to %2 {weft_rt.values = array<i64: 1, 1>} : memref<2x16xf32> to memref<2x16xf32>
  weft_rt.assemble %y value 3 from [2, 1] {weft_rt.into = [unit, #rows]} : memref<8x16xf32>
  return
}

// CHECK-LABEL: func.func @moving
func.func @moving() attributes {weft_rt.arena_bytes = 1024 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x16xf32>, global = tensor<8x16xf32>>,
      #weft_rt.tensor<name = "b", local = tensor<1x16xf32>, global = tensor<1x16xf32>>,
      #weft_rt.tensor<name = "i", local = tensor<index>, global = tensor<index>>],
    weft_rt.results = [
      #weft_rt.tensor<name = "row", local = tensor<1x16xf32>, global = tensor<1x16xf32>, value = 0, part = <begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>>,
      #weft_rt.tensor<name = "y", local = tensor<8x16xf32>, global = tensor<8x16xf32>, value = 3>]} {
  %x = weft_rt.buffer argument 0 "x" : memref<8x16xf32>
  %b = weft_rt.buffer argument 1 "b" : memref<1x16xf32>
  %i = weft_rt.buffer argument 2 "i" : memref<index>
  %row = weft_rt.buffer result 0 "row" : memref<1x16xf32>
  %y = weft_rt.buffer result 1 "y" : memref<8x16xf32>
  %any = weft_rt.read_scalar %i[] {weft_rt.values = array<i64: 2>} : memref<index>
  %end = arith.constant 113 : index
  %at = arith.remui %any, %end : index
  %0 = weft_rt.view %x at 0 plus %at : memref<8x16xf32> to memref<1x16xf32>
  %1 = weft_rt.view %y at 0 plus %at : memref<8x16xf32> to memref<1x16xf32>
  weft_rt.copy %0 to %row {weft_rt.values = array<i64: 0, 0>, weft_rt.parts = [#row, #row]} : memref<1x16xf32> to memref<1x16xf32>
  weft_rt.copy %x to %y {weft_rt.values = array<i64: 0, 0>} : memref<8x16xf32> to memref<8x16xf32>
  weft_rt.copy %b to %1 {weft_rt.values = array<i64: 1, 1>} : memref<1x16xf32> to memref<1x16xf32>
  // CHECK: weft_rt.assemble
  weft_rt.assemble %y value 3 from [0, 1] {weft_rt.into = [unit, #row]} : memref<8x16xf32>
  return
}
