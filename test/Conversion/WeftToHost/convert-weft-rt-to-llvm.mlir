// RUN: weft-opt %s --convert-weft-rt-to-llvm | FileCheck %s

// The entry gets arguments, results and arena as pointers, and calls through
// the runtime's table; contractions and collectives have constant descriptors.

weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
llvm.func @weft_k0(!llvm.ptr, i64, i64)

// CHECK-NOT: weft.mesh
// CHECK-NOT: weft.channel
// CHECK: llvm.func hidden @weft_entry(%[[API:.*]]: !llvm.ptr, %[[RANK:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[RESULTS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
// CHECK-DAG: llvm.mlir.addressof @weft_k0
// CHECK-DAG: llvm.mlir.constant{{.*}}8
// CHECK: llvm.return
// CHECK: llvm.mlir.global {{.*}}@weft_program()
func.func @step() attributes {
    weft_rt.arena_bytes = 128 : i64,
    weft_rt.args = [{global = tensor<16x4xf32>, local = tensor<8x4xf32>, name = "x", sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}],
    weft_rt.results = [{global = tensor<4x4xf32>, local = tensor<4x4xf32>, name = "y"}]} {
  %x = weft_rt.buffer argument 0 : memref<8x4xf32>
  %t = weft_rt.buffer arena 64 : memref<4x4xf32>
  %y = weft_rt.buffer result 0 : memref<4x4xf32>
  weft_rt.launch @weft_k0(%x : memref<8x4xf32>) extent 8 grain 8
  weft_rt.gemm %x, %x into %t {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<8x4xf32>, memref<8x4xf32> into memref<4x4xf32>
  %0 = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>, mesh = @mesh} ins(%t : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {channel = @data.dp, weft.op = "all_reduce y"}
  weft_rt.wait %0
  return
}
