// RUN: weft-opt %s --convert-weft-rt-to-llvm | FileCheck %s
// RUN: weft-opt %s --weft-lower-host -o /dev/null

// A list of more than 64 elements, as the names of ops here, is rows and a rest.
// CHECK: llvm.mlir.global private constant @[[OPS:.*]]() {{.*}} : !llvm.struct<(array<1 x array<64 x ptr>>, array<2 x ptr>)>
// CHECK: llvm.mlir.global {{.*}}@weft_program()
// CHECK: llvm.mlir.constant(66 : i32)
// CHECK: llvm.mlir.addressof @[[OPS]]
llvm.func @weft_k0(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64)
    attributes {weft_rt.takes = [memref<8xf32>]} {
  llvm.return
}
func.func @step() attributes {
    weft_rt.arena_bytes = 64 : i64, weft_rt.args = [],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>, value = 0>]} {
  %y = weft_rt.buffer result 0 : memref<8xf32>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%y : memref<8xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  return
}
