// RUN: weft-compile %s -o %t.so --stats 2>&1 | FileCheck %s

// The mesh that the copies of one rank are on has another name than a function.

// CHECK: in the host's memory 64 B
func.func @mesh(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  %0 = math.exp %x : tensor<16xf32>
  %1 = weft.optimization_barrier %0 {offload} : tensor<16xf32>
  %2 = math.sin %0 : tensor<16xf32>
  %3 = arith.addf %1, %2 : tensor<16xf32>
  return %3 : tensor<16xf32>
}
