// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s | not grep '[^ ]  '

weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data

// CHECK: llvm.func @weft_k0({{.*}}) attributes {weft_rt.takes = [memref<8x16xf32>, memref<16x4xf32>]}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<8x16xf32>, memref<16x4xf32>]}
// CHECK: llvm.func @weft_k1({{.*}}) attributes {weft_rt.image = @code, weft_rt.takes = [memref<8x4xf32>, index, f32]}
llvm.func @weft_k1(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @code, weft_rt.takes = [memref<8x4xf32>, index, f32]}
// CHECK: llvm.func @weft_k2({{.*}}) attributes {weft_rt.image = [@machine, @code], weft_rt.takes = []}
llvm.func @weft_k2(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = [@machine, @code], weft_rt.takes = []}

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
func.func @work(%a: memref<8x16xf32>, %b: memref<16x4xf32>, %c: memref<8x4xf32>, %i: memref<8xi32>, %n: index, %s: f32) {
  // CHECK: weft_rt.gemm %{{.*}}, %{{.*}} into %{{.*}} {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}]} : memref<8x16xf32>, memref<16x4xf32> into memref<8x4xf32>
  weft_rt.gemm %a, %b into %c {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<8x16xf32>, memref<16x4xf32> into memref<8x4xf32>
  // CHECK: weft_rt.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64
  // CHECK-SAME: : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  weft_rt.scatter_add %b, %i, %c {axis = 0 : i64, weft_rt.reads = array<i64: 3>, weft_rt.values = array<i64: 4, 1, 2>, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  // CHECK: weft_rt.scatter_add %{{.*}}, %{{.*}}, %{{.*}} base %{{.*}} {axis
  weft_rt.scatter_add %b, %i, %c base %n {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x4xf32>, memref<8xi32>, memref<8x4xf32>
  // CHECK: %[[T:.*]] = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum, order = <leaves = 2>>
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) outs(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) {channel = @data.dp}
  // CHECK-NEXT: weft_rt.wait %[[T]]
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum, order = <leaves = 2>>
      ins(%a, %b : memref<8x16xf32>, memref<16x4xf32>) outs(%a, %b : memref<8x16xf32>, memref<16x4xf32>) {channel = @data.dp}
  weft_rt.wait %t
  // CHECK: weft_rt.start <all_gather, mesh = @mesh, axes = <{"dp"}>, dims = [0]> ins
  %gg = weft_rt.start <all_gather, mesh = @mesh, axes = <{"dp"}>, dims = [0]>
      ins(%c : memref<8x4xf32>) outs(%b : memref<16x4xf32>) {channel = @data.dp}
  // CHECK: weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = max, dims = [0]> ins
  %rs = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, dims = [0], reduce = max>
      ins(%b : memref<16x4xf32>) outs(%c : memref<8x4xf32>) {channel = @data.dp}
  // CHECK: weft_rt.start <all_to_all, mesh = @mesh, axes = <{"dp"}>, split_dims = [0], concat_dims = [0]> ins
  %aa = weft_rt.start <all_to_all, mesh = @mesh, axes = <{"dp"}>, split_dims = [0], concat_dims = [0]>
      ins(%b : memref<16x4xf32>) outs(%b : memref<16x4xf32>) {channel = @data.dp}
  // CHECK: weft_rt.start <permute, mesh = @mesh, axes = <{"dp"}>, sources = [-1, 0]> ins
  %pp = weft_rt.start <permute, mesh = @mesh, axes = <{"dp"}>, sources = [-1, 0]>
      ins(%c : memref<8x4xf32>) outs(%c : memref<8x4xf32>) {channel = @data.dp}
  // CHECK: weft_rt.launch @weft_k0(%{{.*}}, %{{.*}} : memref<8x16xf32>, memref<16x4xf32>) over #weft_rt.host_range<extent = 8, grain = 2>
  weft_rt.launch @weft_k0(%a, %b : memref<8x16xf32>, memref<16x4xf32>) over #weft_rt.host_range<extent = 8, grain = 2>
  // CHECK: weft_rt.launch @weft_k1(%{{.*}} : memref<8x4xf32>) scalars(%{{.*}}, %{{.*}} : index, f32) over #weft_rt.host_range<extent = 0, grain = 1>
  weft_rt.launch @weft_k1(%c : memref<8x4xf32>) scalars(%n, %s : index, f32) over #weft_rt.host_range<extent = 0, grain = 1>
  // CHECK: weft_rt.copy %{{.*}} to %{{.*}} : memref<8x4xf32> to memref<8x4xf32>
  weft_rt.copy %c to %c : memref<8x4xf32> to memref<8x4xf32>
  // CHECK: %{{.*}} = weft_rt.read_scalar %{{.*}}[%{{.*}}] : memref<8xi32>
  %v = weft_rt.read_scalar %i[%n] : memref<8xi32>
  // CHECK: weft_rt.fused ins() scalars(%{{.*}} : f32) outs(%{{.*}} : memref<8x4xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32):
  weft_rt.fused ins() scalars(%s : f32) outs(%c : memref<8x4xf32>) {
  ^bb0(%x0: f32):
    %e = tensor.empty() : tensor<8x4xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x4xf32>) {
    ^bb0(%o: f32):
      linalg.yield %x0 : f32
    } -> tensor<8x4xf32>
    weft_rt.yield %f : tensor<8x4xf32>
  }
  return
}

// CHECK-LABEL: func @borders
// CHECK-SAME: weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<8xf32>, sharding = <@mesh, [{"dp"}]>>]
// CHECK-SAME: weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<i1>, global = tensor<i1>, value = 7>, #weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, alias = 0, value = 0>]
func.func @borders() attributes {
    weft_rt.args = [#weft_rt.tensor<global = tensor<8xf32>, local = tensor<4xf32>, sharding = <@mesh, [{"dp"}]>>],
    weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<i1>, global = tensor<i1>, value = 7>, #weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = 0, alias = 0>]} {
  return
}
