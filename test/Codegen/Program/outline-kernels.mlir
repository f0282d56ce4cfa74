// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s
// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s --check-prefix=SEEDS

#row = affine_map<(i) -> (i)>

// CHECK-LABEL: func @kernels
func.func @kernels() {
  %x = weft_rt.buffer argument 0 : memref<100000xf32>
  %y = weft_rt.buffer argument 1 : memref<100000xf32>
  %z = weft_rt.buffer arena 0 : memref<100000xf32>
  %w = weft_rt.buffer arena 64 : memref<100000xf32>
  // CHECK: weft_rt.launch @weft_k0(%{{.*}}, %{{.*}} : memref<100000xf32>, memref<100000xf32>) over #weft_rt.host_range<extent = 100000, grain = 32768>
  weft_rt.fused ins(%x : memref<100000xf32>) outs(%y : memref<100000xf32>) {
  ^bb0(%a: tensor<100000xf32>):
    %e = tensor.empty() : tensor<100000xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<100000xf32>) outs(%e : tensor<100000xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<100000xf32>
    weft_rt.yield %g : tensor<100000xf32>
  }
  // The same loops on other buffers are the same kernel.
  // CHECK: weft_rt.launch @weft_k0(
  weft_rt.fused ins(%y : memref<100000xf32>) outs(%z : memref<100000xf32>) {
  ^bb0(%a: tensor<100000xf32>):
    %e = tensor.empty() : tensor<100000xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<100000xf32>) outs(%e : tensor<100000xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<100000xf32>
    weft_rt.yield %g : tensor<100000xf32>
  }
  // In place, it has one buffer; on memory that overlaps, it may not assume
  // that it does not.
  // CHECK: weft_rt.launch @weft_k1(%{{[^,]*}} : memref<100000xf32>)
  weft_rt.fused ins(%x : memref<100000xf32>) outs(%x : memref<100000xf32>) {
  ^bb0(%a: tensor<100000xf32>):
    %e = tensor.empty() : tensor<100000xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<100000xf32>) outs(%e : tensor<100000xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<100000xf32>
    weft_rt.yield %g : tensor<100000xf32>
  }
  // CHECK: weft_rt.launch @weft_k2(
  weft_rt.fused ins(%w : memref<100000xf32>) outs(%z : memref<100000xf32>) {
  ^bb0(%a: tensor<100000xf32>):
    %e = tensor.empty() : tensor<100000xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<100000xf32>) outs(%e : tensor<100000xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<100000xf32>
    weft_rt.yield %g : tensor<100000xf32>
  }
  return
}

// A scatter's slices are cut over threads, its rows are not.
// CHECK-LABEL: func @scatter
func.func @scatter(%t: memref<16x32xf32>, %i: memref<8xi32>, %u: memref<8x32xf32>) {
  %0 = weft_rt.buffer arena 0 : memref<16x32xf32>
  %1 = weft_rt.buffer argument 0 : memref<8xi32>
  %2 = weft_rt.buffer arena 2048 : memref<8x32xf32>
  // CHECK: weft_rt.launch @weft_k3(%{{.*}}, %{{.*}}, %{{.*}} : memref<16x32xf32>, memref<8xi32>, memref<8x32xf32>) over #weft_rt.host_range<extent = 32, grain =
  weft_rt.scatter_add %0, %1, %2 {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x32xf32>, memref<8xi32>, memref<8x32xf32>
  return
}

// Launches differ in their scalars, kernels in the types of these.
// CHECK-LABEL: func @scalars
func.func @scalars(%s: f32, %t: f32, %i: i32) {
  %0 = weft_rt.buffer arena 0 : memref<16xf32>
  %1 = weft_rt.buffer arena 64 : memref<16xi32>
  // CHECK: weft_rt.launch @weft_k4(%{{.*}} : memref<16xf32>) scalars(%arg0 : f32) over #weft_rt.host_range
  // CHECK: weft_rt.launch @weft_k4(%{{.*}} : memref<16xf32>) scalars(%arg1 : f32) over #weft_rt.host_range
  // CHECK: weft_rt.launch @weft_k5(%{{.*}} : memref<16xi32>) scalars(%arg2 : i32) over #weft_rt.host_range
  weft_rt.fused ins() scalars(%s : f32) outs(%0 : memref<16xf32>) {
  ^bb0(%v: f32):
    %e = tensor.empty() : tensor<16xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
    ^bb0(%o: f32):
      linalg.yield %v : f32
    } -> tensor<16xf32>
    weft_rt.yield %g : tensor<16xf32>
  }
  weft_rt.fused ins() scalars(%t : f32) outs(%0 : memref<16xf32>) {
  ^bb0(%v: f32):
    %e = tensor.empty() : tensor<16xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
    ^bb0(%o: f32):
      linalg.yield %v : f32
    } -> tensor<16xf32>
    weft_rt.yield %g : tensor<16xf32>
  }
  weft_rt.fused ins() scalars(%i : i32) outs(%1 : memref<16xi32>) {
  ^bb0(%v: i32):
    %e = tensor.empty() : tensor<16xi32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xi32>) {
    ^bb0(%o: i32):
      linalg.yield %v : i32
    } -> tensor<16xi32>
    weft_rt.yield %g : tensor<16xi32>
  }
  return
}

// The first row of a scatter's table is a scalar.
// CHECK-LABEL: func @base
func.func @base(%b: index) {
  %0 = weft_rt.buffer arena 0 : memref<16x32xf32>
  %1 = weft_rt.buffer argument 0 : memref<8xi32>
  %2 = weft_rt.buffer arena 2048 : memref<8x32xf32>
  // CHECK: weft_rt.launch @weft_k6(%{{.*}}, %{{.*}}, %{{.*}} : memref<16x32xf32>, memref<8xi32>, memref<8x32xf32>) scalars(%arg0 : index) over
  weft_rt.scatter_add %0, %1, %2 base %b {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<16x32xf32>, memref<8xi32>, memref<8x32xf32>
  return
}

// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr {llvm.noalias}, %[[Y:.*]]: !llvm.ptr {llvm.noalias}, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: llvm.load
// CHECK: arith.negf
// CHECK: llvm.store
// CHECK-LABEL: llvm.func hidden @weft_k0
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: llvm.call @weft_k0_body
// CHECK-LABEL: llvm.func internal @weft_k1_body
// CHECK-SAME: (%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-LABEL: llvm.func internal @weft_k2_body
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-LABEL: llvm.func internal @weft_k3_body
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-LABEL: llvm.func internal @weft_k4_body
// CHECK-SAME: (%{{.*}}: !llvm.ptr {llvm.noalias}, %[[BITS:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: %[[HALF:.*]] = arith.trunci %[[BITS]] : i64 to i32
// CHECK: %[[SCALAR:.*]] = arith.bitcast %[[HALF]] : i32 to f32
// CHECK: llvm.store %[[SCALAR]]
// CHECK: llvm.func hidden @weft_k4({{.*}} attributes {weft_rt.takes = [memref<16xf32>, f32]}
// CHECK: llvm.func hidden @weft_k6({{.*}} attributes {weft_rt.takes = [memref<16x32xf32>, memref<8xi32>, memref<8x32xf32>, index]}

#scalar = affine_map<() -> ()>

// Ops without loops that differ in their seeds are one kernel, which gets them.
// SEEDS-LABEL: func @seeds
func.func @seeds() {
  %k = weft_rt.buffer argument 0 : memref<i32>
  %l = weft_rt.buffer argument 1 : memref<i32>
  // SEEDS-DAG: %[[ONE:.*]] = arith.constant 100001 : i32
  // SEEDS: weft_rt.launch @[[SEEDS:weft_k[0-9]+]](%{{.*}}, %{{.*}} : memref<i32>, memref<i32>) scalars(%[[ONE]] : i32)
  weft_rt.fused ins(%k : memref<i32>) outs(%l : memref<i32>) {
  ^bb0(%a: tensor<i32>):
    %seed = arith.constant 100001 : i32
    %shift = arith.constant 16 : i32
    %e = tensor.empty() : tensor<i32>
    %g = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%a : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%v: i32, %o: i32):
      %x = arith.xori %v, %seed : i32
      %s = arith.shrui %x, %shift : i32
      linalg.yield %s : i32
    } -> tensor<i32>
    weft_rt.yield %g : tensor<i32>
  }
  // SEEDS-DAG: %[[TWO:.*]] = arith.constant -100002 : i32
  // SEEDS: weft_rt.launch @[[SEEDS]](%{{.*}}, %{{.*}} : memref<i32>, memref<i32>) scalars(%[[TWO]] : i32)
  weft_rt.fused ins(%k : memref<i32>) outs(%l : memref<i32>) {
  ^bb0(%a: tensor<i32>):
    %seed = arith.constant -100002 : i32
    %shift = arith.constant 16 : i32
    %e = tensor.empty() : tensor<i32>
    %g = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%a : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%v: i32, %o: i32):
      %x = arith.xori %v, %seed : i32
      %s = arith.shrui %x, %shift : i32
      linalg.yield %s : i32
    } -> tensor<i32>
    weft_rt.yield %g : tensor<i32>
  }
  return
}
