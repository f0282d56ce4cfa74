// RUN: weft-compile %s --memory-limit 100B -o %t.so
// RUN: not weft-compile %s --memory-limit 16B -o %t.so 2>&1 | FileCheck %s
// RUN: not weft-compile %s --memory-limit 16B --recompute none -o %t.so 2>&1 | FileCheck %s

// A step that computes nothing has no place where it needs most.

// CHECK: nothing.mlir:[[@LINE+2]]:1: error: 'func.func' op needs 64 bytes at least, more than the 16 bytes of the memory limit
// CHECK: arguments and results take 64 bytes all the time, and no order needs less than 64 bytes
func.func @step(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y", weft.alias = 0 : index}) {
  return %x : tensor<16xf32>
}
