// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
llvm.func @weft_k0(!llvm.ptr, i64, i64)

// CHECK-LABEL: func @places
func.func @places(%i: index) {
  // CHECK: %[[A:.*]] = weft_rt.buffer argument 3 : memref<8x128xf32>
  // CHECK: weft_rt.buffer result 0 : memref<i1>
  // CHECK: weft_rt.buffer arena 4096 "gathered wq" : memref<8xindex, strided<[2]>>
  %0 = weft_rt.buffer argument 3 : memref<8x128xf32>
  %1 = weft_rt.buffer result 0 : memref<i1>
  %2 = weft_rt.buffer arena 4096 "gathered wq" : memref<8xindex, strided<[2]>>
  // CHECK: weft_rt.view %[[A]] at 256 : memref<8x128xf32> to memref<2x128xf32>
  // CHECK: weft_rt.view %[[A]] at 0 plus %{{.*}} : memref<8x128xf32> to memref<8x2xf32, strided<[128, 1]>>
  %3 = weft_rt.view %0 at 256 : memref<8x128xf32> to memref<2x128xf32>
  %4 = weft_rt.view %0 at 0 plus %i : memref<8x128xf32> to memref<8x2xf32, strided<[128, 1]>>
  // CHECK: weft_rt.assemble %[[A]] value 7 from [5, 6] : memref<8x128xf32>
  // CHECK: weft_rt.assemble %[[A]] value 8 from [] : memref<8x128xf32>
  weft_rt.assemble %0 value 7 from [5, 6] : memref<8x128xf32>
  weft_rt.assemble %0 value 8 from [] : memref<8x128xf32>
  return
}

// CHECK-LABEL: func @work
func.func @work(%a: memref<8x16xf32>, %b: memref<16x4xf32>, %c: memref<8x4xf32>, %i: memref<8xi32>, %n: memref<index>) {
  // CHECK: weft_rt.gemm %{{.*}}, %{{.*}} into %{{.*}} {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} : memref<8x16xf32>, memref<16x4xf32> into memref<8x4xf32>
  weft_rt.gemm %a, %b into %c {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<8x16xf32>, memref<16x4xf32> into memref<8x4xf32>
  // CHECK: weft_rt.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64
  // CHECK-SAME: : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  weft_rt.scatter_add %b, %i, %c {axis = 0 : i64, weft_rt.reads = array<i64: 3>, weft_rt.values = array<i64: 4, 1, 2>, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  // CHECK: weft_rt.scatter_add %{{.*}}, %{{.*}}, %{{.*}} base %{{.*}} : memref<index>
  weft_rt.scatter_add %b, %i, %c base %n : memref<index> {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  // CHECK: %[[T:.*]] = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) outs(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) {channel = @data.dp}
  // CHECK-NEXT: weft_rt.wait %[[T]]
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>, mesh = @mesh} ins(%a, %b : memref<8x16xf32>, memref<16x4xf32>) outs(%a, %b : memref<8x16xf32>, memref<16x4xf32>) {channel = @data.dp}
  weft_rt.wait %t
  // CHECK: weft_rt.launch @weft_k0(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) extent 8 grain 2
  weft_rt.launch @weft_k0(%a, %b : memref<8x16xf32>, memref<16x4xf32>) extent 8 grain 2
  return
}
