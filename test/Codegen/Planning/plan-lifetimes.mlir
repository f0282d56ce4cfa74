// RUN: weft-opt %s --weft-plan-buffers -split-input-file | FileCheck %s

#m = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather

// gather/free-early: a gathered weight dies with its last product, and the next
// one comes to lie where it was.

// CHECK-LABEL: func @weights()
// CHECK-SAME: weft_rt.arena_bytes = 256 : i64
// CHECK-DAG: weft_rt.buffer arena [[AT:[0-9]+]] "gathered first" : memref<4x8xf32>
// CHECK-DAG: weft_rt.buffer arena [[AT]] "gathered second" : memref<8x4xf32>
func.func @weights(%x: tensor<4x4xf32>, %w0: tensor<2x8xf32>, %w1: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %f0 = weft.all_gather %w0 on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather first"} : (tensor<2x8xf32>) -> !weft.future<tensor<4x8xf32>>
  %g0 = weft.wait %f0 : !weft.future<tensor<4x8xf32>>
  %a = weft.matmul %x, %g0 {indexing_maps = #m} : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %f1 = weft.all_gather %w1 on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather second"} : (tensor<4x4xf32>) -> !weft.future<tensor<8x4xf32>>
  %g1 = weft.wait %f1 : !weft.future<tensor<8x4xf32>>
  %b = weft.matmul %a, %g1 {indexing_maps = #m} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

#m = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose reduce

// gather/free-early: what is sent dies when the collective is waited for, not
// before and not later.

// CHECK-LABEL: func @sent()
// CHECK-SAME: weft_rt.arena_bytes = 128 : i64
// CHECK-DAG: %[[SENT:.*]] = weft_rt.buffer arena [[AT:[0-9]+]] "gradient" : memref<4x4xf32>
// CHECK-DAG: %[[DURING:.*]] = weft_rt.buffer arena {{[0-9]+}} "during" : memref<4x4xf32>
// CHECK-DAG: %[[AFTER:.*]] = weft_rt.buffer arena [[AT]] "after" : memref<4x4xf32>
// CHECK: weft_rt.start <reduce_scatter, {{.*}} ins(%[[SENT]] : memref<4x4xf32>)
// CHECK: weft_rt.gemm %{{.*}}, %{{.*}} into %[[DURING]]
// CHECK: weft_rt.wait
// CHECK: weft_rt.gemm %[[DURING]], %{{.*}} into %[[AFTER]]
func.func @sent(%x: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>) {
  %g = weft.matmul %x, %x {indexing_maps = #m, weft.op = "gradient"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %f = weft.reduce_scatter sum %g on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<4x4xf32>) -> !weft.future<tensor<2x4xf32>>
  %a = weft.matmul %x, %x {indexing_maps = #m, weft.op = "during"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s = weft.wait %f : !weft.future<tensor<2x4xf32>>
  %b = weft.matmul %a, %x {indexing_maps = #m, weft.op = "after"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %c = weft.matmul %b, %x {indexing_maps = #m} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %s, %c : tensor<2x4xf32>, tensor<4x4xf32>
}

// -----

#row = affine_map<(i) -> (i)>

// gather/buffers: what the caller owns is not recycled, dead or not; a donated
// argument is updated in place once nobody needs it.

// CHECK-LABEL: func @owned()
// CHECK-DAG: %[[W:.*]] = weft_rt.buffer argument 0 "w" : memref<16xf32>
// CHECK-DAG: %[[X:.*]] = weft_rt.buffer argument 1 "x" : memref<16xf32>
// CHECK-DAG: %[[T:.*]] = weft_rt.buffer arena 0 "sum" : memref<16xf32>
// CHECK: weft_rt.fused ins(%[[X]] : memref<16xf32>) outs(%[[T]] : memref<16xf32>)
// CHECK: weft_rt.fused ins(%[[W]], %[[T]] : memref<16xf32>, memref<16xf32>) outs(%[[W]] : memref<16xf32>)
func.func @owned(%w: tensor<16xf32> {weft.name = "w"}, %x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "w", weft.alias = 0 : index}) {
  %s = weft_rt.fused ins(%x : tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = tensor.empty() : tensor<16xf32>
    %r = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%v: f32, %o: f32):
      %d = arith.addf %v, %v : f32
      linalg.yield %d : f32
    } -> tensor<16xf32>
    weft_rt.yield %r : tensor<16xf32>
  } {weft.op = "sum"}
  %u = weft_rt.fused ins(%w, %s : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %e = tensor.empty() : tensor<16xf32>
    %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%v: f32, %t: f32, %o: f32):
      %d = arith.subf %v, %t : f32
      linalg.yield %d : f32
    } -> tensor<16xf32>
    weft_rt.yield %r : tensor<16xf32>
  }
  return %u : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather

// gather/any-dtype: bytes follow from the type. Types of fewer bits than a byte
// take one an element: 192 of bf16, 128 of f8, i4 and i1 each.

// CHECK-LABEL: func @types()
// CHECK-SAME: weft_rt.arena_bytes = 576 : i64
// CHECK-DAG: weft_rt.buffer arena {{.*}} "gathered bf16" : memref<96xbf16>
// CHECK-DAG: weft_rt.buffer arena {{.*}} "gathered f8" : memref<96xf8E4M3FN>
// CHECK-DAG: weft_rt.buffer arena {{.*}} "gathered i4" : memref<96xi4>
// CHECK-DAG: weft_rt.buffer arena {{.*}} "gathered i1" : memref<96xi1>
func.func @types(%a: tensor<48xbf16>, %b: tensor<48xf8E4M3FN>, %c: tensor<48xi4>, %d: tensor<48xi1>) {
  %fa = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather bf16"} : (tensor<48xbf16>) -> !weft.future<tensor<96xbf16>>
  %fb = weft.all_gather %b on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather f8"} : (tensor<48xf8E4M3FN>) -> !weft.future<tensor<96xf8E4M3FN>>
  %fc = weft.all_gather %c on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather i4"} : (tensor<48xi4>) -> !weft.future<tensor<96xi4>>
  %fd = weft.all_gather %d on @mesh <{"fsdp"}> dims [0] {channel = @c, weft.op = "all_gather i1"} : (tensor<48xi1>) -> !weft.future<tensor<96xi1>>
  %ga = weft.wait %fa : !weft.future<tensor<96xbf16>>
  %gb = weft.wait %fb : !weft.future<tensor<96xf8E4M3FN>>
  %gc = weft.wait %fc : !weft.future<tensor<96xi4>>
  %gd = weft.wait %fd : !weft.future<tensor<96xi1>>
  return
}
