// RUN: weft-opt %s --weft-plan-buffers -split-input-file | FileCheck %s

#row = affine_map<(i) -> (i)>

// A donated argument is updated in place; another is not written.

// CHECK-LABEL: func @update()
// CHECK-SAME: weft_rt.arena_bound = 0 : i64
// CHECK-SAME: weft_rt.arena_bytes = 0 : i64
// CHECK-SAME: weft_rt.args = [#weft_rt.tensor<name = "p", local = tensor<8xf32>, global = tensor<8xf32>>, #weft_rt.tensor<name = "g", local = tensor<8xf32>, global = tensor<8xf32>>]
// CHECK-SAME: weft_rt.results = [#weft_rt.tensor<name = "p", local = tensor<8xf32>, global = tensor<8xf32>, alias = 0, value = 2>]
// CHECK-DAG: %[[P:.*]] = weft_rt.buffer argument 0 "p" : memref<8xf32>
// CHECK-DAG: %[[G:.*]] = weft_rt.buffer argument 1 "g" : memref<8xf32>
// CHECK: weft_rt.fused ins(%[[P]], %[[G]] : memref<8xf32>, memref<8xf32>) outs(%[[P]] : memref<8xf32>)
// CHECK: } {weft.op = "kernel #0", weft_rt.values = array<i64: 0, 1, 2>}
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @update(%p: tensor<8xf32> {weft.name = "p"}, %g: tensor<8xf32> {weft.name = "g"})
    -> (tensor<8xf32> {weft.name = "p", weft.alias = 0 : index}) {
  %r = weft_rt.fused ins(%p, %g : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %d = arith.subf %x, %y : f32
      linalg.yield %d : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  } {weft.op = "kernel #0"}
  return %r : tensor<8xf32>
}

// -----

#row = affine_map<(i) -> (i)>
#turned = affine_map<(i) -> (-i + 7)>

// What is read in another order than it is written is not updated in place.

// CHECK-LABEL: func @reversed()
// CHECK-DAG: %[[P:.*]] = weft_rt.buffer argument 0 "arg0" : memref<8xf32>
// CHECK-DAG: %[[T:.*]] = weft_rt.buffer arena 0 "fused" : memref<8xf32>
// CHECK: weft_rt.fused ins(%[[P]] : memref<8xf32>) outs(%[[T]] : memref<8xf32>)
// CHECK: } {weft_rt.values = array<i64: 0, 1>}
// CHECK: weft_rt.fused ins(%[[T]] : memref<8xf32>) outs(%[[P]] : memref<8xf32>)
// CHECK: } {weft.op = "copy #0", weft_rt.values = array<i64: 1, 1>}
func.func @reversed(%p: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 0 : index}) {
  %r = weft_rt.fused ins(%p : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#turned, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Contractions go into the concatenation that they are parts of, which is the
// result and becomes whole where it stands; a temporary that is dead gives its
// memory to a later one.

// CHECK-LABEL: func @parts()
// CHECK-SAME: weft_rt.arena_bytes = 128 : i64
// CHECK: %[[X:.*]] = weft_rt.buffer argument 0 "arg0" : memref<4x4xf32>
// CHECK: %[[T0:.*]] = weft_rt.buffer arena 0 "matmul #0" : memref<4x4xf32>
// CHECK: %[[T1:.*]] = weft_rt.buffer arena 64 "matmul" : memref<4x4xf32>
// CHECK: %[[T2:.*]] = weft_rt.buffer arena 0 "matmul" : memref<4x4xf32>
// CHECK: %[[R:.*]] = weft_rt.buffer result 0 "logits" : memref<4x8xf32>
// CHECK: %[[LEFT:.*]] = weft_rt.view %[[R]] at 0 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
// CHECK: %[[RIGHT:.*]] = weft_rt.view %[[R]] at 4 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
// CHECK: weft_rt.gemm %[[X]], %[[X]] into %[[T0]] {{.*}}weft.op = "matmul #0", weft_rt.values = array<i64: 0, 0, 1>
// CHECK: weft_rt.gemm %[[T0]], %[[X]] into %[[T1]] {{.*}}weft_rt.values = array<i64: 1, 0, 2>
// CHECK: weft_rt.gemm %[[T1]], %[[X]] into %[[T2]] {{.*}}weft_rt.values = array<i64: 2, 0, 3>
// CHECK: weft_rt.gemm %[[T2]], %[[X]] into %[[LEFT]] {{.*}}weft_rt.values = array<i64: 3, 0, 4>
// CHECK: weft_rt.gemm %[[X]], %[[T2]] into %[[RIGHT]] {{.*}}weft_rt.values = array<i64: 0, 3, 5>
// CHECK: weft_rt.assemble %[[R]] value 6 from [4, 5] {weft_rt.into = [#weft_rt.part<begin = 0, sizes = [4, 4], strides = [8, 1]>, #weft_rt.part<begin = 4, sizes = [4, 4], strides = [8, 1]>]} : memref<4x8xf32>
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @parts(%x: tensor<4x4xf32>) -> (tensor<4x8xf32> {weft.name = "logits"}) {
  %a = weft.matmul %x, %x {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = weft.matmul %a, %x {indexing_maps = [#lhs, #rhs, #out]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %c = weft.matmul %b, %x {indexing_maps = [#lhs, #rhs, #out]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %d = weft.matmul %c, %x {indexing_maps = [#lhs, #rhs, #out]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %e = weft.matmul %x, %c {indexing_maps = [#lhs, #rhs, #out]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = tensor.concat dim(1) %d, %e : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A carried tensor is filled in place, and what a loop does not change is not
// copied.

// CHECK-LABEL: func @loop()
// CHECK-DAG: %[[ACC:.*]] = weft_rt.buffer arena 0 "for" : memref<5x4xf32>
// What was empty is undefined; a pass begins with that or what the last one
// left.
// CHECK: weft_rt.assemble %[[ACC]] value 1 from [] : memref<5x4xf32>
// CHECK: scf.for
// CHECK-NEXT: weft_rt.assemble %[[ACC]] value 3 from [1, 4] {weft_rt.join} : memref<5x4xf32>
// CHECK: %[[OFFSET:.*]] = arith.muli
// CHECK: %[[SLICE:.*]] = weft_rt.view %[[ACC]] at 0 plus %[[OFFSET]] : memref<5x4xf32> to memref<4xf32>
// CHECK: weft_rt.fused ins(%{{.*}} : memref<4xf32>) outs(%[[SLICE]] : memref<4xf32>)
// CHECK: } {weft.op = "copy #0", weft_rt.values = array<i64: 0, 0>}
// CHECK-NEXT: weft_rt.assemble %[[ACC]] value 4 from [3, 0] {weft_rt.into = [unit, #weft_rt.part<begin = 0, sizes = [4], strides = [1], moves = true>]} : memref<5x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: weft_rt.assemble %[[ACC]] value 2 from [1, 4] {weft_rt.join} : memref<5x4xf32>
// CHECK-NEXT: weft_rt.fused
// CHECK: } {weft.op = "copy #1", weft_rt.values = array<i64: 2, 2>}
// CHECK-NEXT: return
func.func @loop(%x: tensor<4xf32>) -> tensor<5x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<5x4xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %e) -> (tensor<5x4xf32>) {
    %s = tensor.insert_slice %x into %a[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    scf.yield %s : tensor<5x4xf32>
  }
  return %r : tensor<5x4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
// CHECK: weft.channel @c
weft.channel @c on @mesh <{"dp"}> purpose data

// A reduction over ranks is in place if its operand is not needed any more.

// CHECK-LABEL: func @collectives()
// CHECK-DAG: %[[X:.*]] = weft_rt.buffer argument 0 "arg0" : memref<4xf32>
// CHECK-DAG: %[[Y:.*]] = weft_rt.buffer argument 1 "arg1" : memref<4xf32>
// CHECK-DAG: %[[R:.*]] = weft_rt.buffer result 1 "result1" : memref<4xf32>
// CHECK: %[[T0:.*]] = weft_rt.start <all_reduce, mesh = @mesh, axes = <{{.*}}>, reduce = sum> ins(%[[X]] : memref<4xf32>) outs(%[[X]] : memref<4xf32>) {channel = @c, weft.op = "sum x", weft_rt.values = array<i64: 0, 2>}
// CHECK-NEXT: weft_rt.wait %[[T0]]
// CHECK: %[[T1:.*]] = weft_rt.start <all_reduce, mesh = @mesh, axes = <{{.*}}>, reduce = sum> ins(%[[Y]] : memref<4xf32>) outs(%[[R]] : memref<4xf32>) {{.*}}weft_rt.values = array<i64: 1, 3>
// CHECK-NEXT: weft_rt.wait %[[T1]]
func.func @collectives(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32> {weft.alias = 0 : index}, tensor<4xf32>) {
  %f0 = weft.all_reduce sum %x on @mesh <{"dp"}> {channel = @c, weft.op = "sum x"} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  %0 = weft.wait %f0 : !weft.future<tensor<4xf32>>
  %f1 = weft.all_reduce sum %y on @mesh <{"dp"}> {channel = @c} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  %1 = weft.wait %f1 : !weft.future<tensor<4xf32>>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data

// While a collective is on its way its operand is not overwritten and its
// result has memory of its own, though neither is used by an op in between.

// CHECK-LABEL: func @in_flight()
// CHECK-DAG: %[[X:.*]] = weft_rt.buffer argument 0 "arg0" : memref<4x4xf32>
// CHECK-DAG: %[[R0:.*]] = weft_rt.buffer result 0 "result0" : memref<4x4xf32>
// CHECK-DAG: %[[R1:.*]] = weft_rt.buffer result 1 "result1" : memref<8x4xf32>
// CHECK-DAG: %[[A:.*]] = weft_rt.buffer arena 0 "matmul" : memref<4x4xf32>
// CHECK-DAG: %[[B:.*]] = weft_rt.buffer arena 64 "matmul" : memref<4x4xf32>
// CHECK: weft_rt.gemm %[[X]], %[[X]] into %[[A]]
// CHECK: %[[T:.*]] = weft_rt.start <all_gather, mesh = @mesh, axes = <{{.*}}>, dims = [0]> ins(%[[A]] : memref<4x4xf32>) outs(%[[R1]] : memref<8x4xf32>) {{.*}}weft_rt.values = array<i64: 1, 4>
// CHECK: weft_rt.gemm %[[X]], %[[X]] into %[[B]]
// CHECK: weft_rt.gemm %[[B]], %[[B]] into %[[R0]]
// CHECK: weft_rt.wait %[[T]]
#m = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
func.func @in_flight(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  %a = weft.matmul %x, %x {indexing_maps = #m} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %f = weft.all_gather %a on @mesh <{"dp"}> dims [0] {channel = @c} : (tensor<4x4xf32>) -> !weft.future<tensor<8x4xf32>>
  %b = weft.matmul %x, %x {indexing_maps = #m} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %d = weft.matmul %b, %b {indexing_maps = #m} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %g = weft.wait %f : !weft.future<tensor<8x4xf32>>
  return %d, %g : tensor<4x4xf32>, tensor<8x4xf32>
}
