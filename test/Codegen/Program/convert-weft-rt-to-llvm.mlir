// RUN: weft-opt %s --convert-weft-rt-to-llvm | FileCheck %s

// The entry gets arguments, results and arena as pointers, and calls through
// the runtime's table; each call has a constant descriptor, where kernels
// are numbers in the program's table. A kernel that is only declared lies in an
// image.

weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
llvm.func @weft_k1(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @code, weft_rt.takes = [memref<8x4xf32>]}
llvm.mlir.global private constant @code("CODE\00\01")
llvm.func @weft_k2(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<8x4xf32>, f32, index]}
llvm.func @weft_k0(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64)
    attributes {weft_rt.takes = [memref<8x4xf32>]} {
  llvm.return
}
memref.global "private" constant @c : memref<4x4xf32> = dense<1.0>

// CHECK-NOT: weft.mesh
// CHECK-NOT: weft.channel
// CHECK: llvm.func hidden @weft_entry(%[[API:.*]]: !llvm.ptr, %[[RANK:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[RESULTS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[HOST:.*]]: !llvm.ptr)
// CHECK: %[[K0:.*]] = llvm.mlir.addressof @weft_d4 : !llvm.ptr
// CHECK: llvm.call %{{.*}}(%[[RANK]], %{{.*}}, %[[K0]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK-NOT: llvm.intr.memcpy
// CHECK: llvm.mlir.addressof @weft_d
// CHECK: llvm.mlir.addressof @c
// CHECK: %[[BITS:.*]] = llvm.call %{{.*}}(%[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, !llvm.ptr) -> i64
// CHECK: %[[NARROW:.*]] = arith.trunci %[[BITS]] : i64 to i32
// CHECK: %[[ELEMENT:.*]] = arith.bitcast %[[NARROW]] : i32 to f32
// CHECK: %[[INSIDE:.*]] = arith.select %{{.*}}, %[[ELEMENT]], %{{.*}} : f32
// CHECK: %[[PACKED:.*]] = arith.bitcast %[[INSIDE]] : f32 to i32
// CHECK: %[[SCALAR:.*]] = arith.extui %[[PACKED]] : i32 to i64
// CHECK: llvm.store %[[SCALAR]], %{{.*}} : i64, !llvm.ptr
// CHECK: %[[INDEX:.*]] = llvm.mlir.constant(5 : i64) : i64
// CHECK: llvm.store %[[INDEX]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.return
// CHECK: llvm.mlir.global private constant @weft_d3() {{.*}} : !llvm.array<2 x i64>
// CHECK: llvm.mlir.global private constant @weft_d4() {{.*}} : !llvm.struct<(i32, i32, ptr)>
// CHECK: llvm.mlir.addressof @weft_d3
// CHECK: llvm.mlir.global private constant @{{.*}}() {{.*}} : !llvm.array<3 x i64>
// CHECK: llvm.mlir.global private constant @[[KERNELS:.*]]() {{.*}} : !llvm.array<3 x struct<(ptr, i32, ptr, i32, i32)>>
// CHECK-DAG: llvm.mlir.addressof @weft_k0
// CHECK-DAG: llvm.mlir.constant(-1 : i32)
// CHECK: llvm.mlir.global private constant @[[IMAGES:.*]]() {{.*}} : !llvm.array<1 x struct<(ptr, ptr, i64)>>
// CHECK-DAG: llvm.mlir.addressof @code
// CHECK-DAG: llvm.mlir.constant(6 : i64)
// CHECK: llvm.mlir.global {{.*}}@weft_program()
// CHECK: llvm.mlir.constant(9 : i32)
// CHECK: llvm.mlir.addressof @[[KERNELS]]
// CHECK: llvm.mlir.addressof @[[IMAGES]]
// CHECK-NOT: @weft_k1(
// CHECK-NOT: weft_rt.takes
func.func @step() attributes {
    weft_rt.arena_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8x4xf32>, global = tensor<16x4xf32>, sharding = <@mesh, [{"dp"}, {}]>>],
    weft_rt.results = [#weft_rt.tensor<name = "y", local = tensor<4x4xf32>, global = tensor<4x4xf32>, value = 0>]} {
  %x = weft_rt.buffer argument 0 : memref<8x4xf32>
  %t = weft_rt.buffer arena 64 : memref<4x4xf32>
  %y = weft_rt.buffer result 0 : memref<4x4xf32>
  weft_rt.launch @weft_k0(%x : memref<8x4xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k1(%x : memref<8x4xf32>) over #weft_rt.host_range<extent = 8, grain = 8>
  %c = memref.get_global @c : memref<4x4xf32>
  weft_rt.copy %c to %t : memref<4x4xf32> to memref<4x4xf32>
  %i = arith.constant 5 : index
  %s = weft_rt.read_scalar %t[%i, %i] : memref<4x4xf32>
  weft_rt.launch @weft_k2(%x : memref<8x4xf32>) scalars(%s, %i : f32, index) over #weft_rt.host_range<extent = 8, grain = 8>
  weft_rt.launch @weft_k0(%x : memref<8x4xf32>) over #weft_rt.launch_numbers<[4, 5, 6]>
  weft_rt.gemm %x, %x into %t {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<8x4xf32>, memref<8x4xf32> into memref<4x4xf32>
  %0 = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum> ins(%t : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {channel = @data.dp, weft.op = "all_reduce y"}
  weft_rt.wait %0
  return
}
