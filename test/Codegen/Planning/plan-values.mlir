// RUN: weft-opt %s --weft-plan-buffers -split-input-file | FileCheck %s

// A branch leaves one value or the other. Both are copied: what is no temporary
// is not overwritten.

// CHECK-LABEL: func @branch()
// CHECK-SAME: value = 3>
// CHECK-DAG: %[[A:.*]] = weft_rt.buffer argument 0 "arg0" : memref<4xf32>
// CHECK-DAG: %[[B:.*]] = weft_rt.buffer argument 1 "arg1" : memref<4xf32>
// CHECK-DAG: %[[N:.*]] = weft_rt.buffer argument 2 "arg2" : memref<i1>
// CHECK-DAG: %[[R:.*]] = weft_rt.buffer arena 0 "if" : memref<4xf32>
// CHECK: %[[C:.*]] = weft_rt.read_scalar %[[N]][] {weft_rt.values = array<i64: 2>} : memref<i1>
// CHECK: scf.if %[[C]] {
// CHECK: weft_rt.fused ins(%[[A]] : memref<4xf32>) outs(%[[R]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 0, 0>
// CHECK: } else {
// CHECK: weft_rt.fused ins(%[[B]] : memref<4xf32>) outs(%[[R]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 1, 1>
// CHECK: weft_rt.assemble %[[R]] value 3 from [0, 1] {weft_rt.join} : memref<4xf32>
// CHECK: weft_rt.values = array<i64: 3, 3>
func.func @branch(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A view is its source's value. A loop that swaps what it carries saves both.

// CHECK-LABEL: func @swap()
// CHECK: %[[X:.*]] = weft_rt.buffer argument 0 "arg0" : memref<2x4xf32>
// CHECK: %[[FIRST:.*]] = weft_rt.view %[[X]] at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK: %[[P:.*]] = weft_rt.buffer arena {{.*}} "for:0" : memref<4xf32>
// CHECK: %[[SECOND:.*]] = weft_rt.view %[[X]] at 4 : memref<2x4xf32> to memref<4xf32>
// CHECK: %[[Q:.*]] = weft_rt.buffer arena {{.*}} "for:1" : memref<4xf32>
// CHECK: weft_rt.fused ins(%[[FIRST]] : memref<4xf32>) outs(%[[P]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 0, 0>
// CHECK: weft_rt.fused ins(%[[SECOND]] : memref<4xf32>) outs(%[[Q]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 0, 0>
// CHECK: scf.for
// CHECK-NEXT: weft_rt.assemble %[[P]] value 3 from [0, 4] {weft_rt.join, weft_rt.parts = [#weft_rt.part<begin = 0, sizes = [4], strides = [1]>, unit]} : memref<4xf32>
// CHECK-NEXT: weft_rt.assemble %[[Q]] value 4 from [0, 3] {weft_rt.join, weft_rt.parts = [#weft_rt.part<begin = 4, sizes = [4], strides = [1]>, unit]} : memref<4xf32>
// CHECK: weft_rt.fused ins(%[[Q]] : memref<4xf32>) outs(%[[S:.*]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 4, 4>
// CHECK: weft_rt.fused ins(%[[P]] : memref<4xf32>) outs(%[[T:.*]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 3, 3>
// CHECK: weft_rt.fused ins(%[[S]] : memref<4xf32>) outs(%[[P]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 4, 4>
// CHECK: weft_rt.fused ins(%[[T]] : memref<4xf32>) outs(%[[Q]] : memref<4xf32>)
// CHECK: weft_rt.values = array<i64: 3, 3>
// CHECK: weft_rt.assemble %[[P]] value 1 from [0, 4] {weft_rt.join, weft_rt.parts = [#weft_rt.part<begin = 0, sizes = [4], strides = [1]>, unit]} : memref<4xf32>
// CHECK-NEXT: weft_rt.assemble %[[Q]] value 2 from [0, 3] {weft_rt.join, weft_rt.parts = [#weft_rt.part<begin = 4, sizes = [4], strides = [1]>, unit]} : memref<4xf32>
func.func @swap(%x: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %a = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %b = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %a, %q = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %q, %p : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A scatter reads its table and writes it; the first row is a scalar.

// CHECK-LABEL: func @scatter()
// CHECK-DAG: %[[T:.*]] = weft_rt.buffer argument 0 "table" : memref<16x4xf32>
// CHECK-DAG: %[[I:.*]] = weft_rt.buffer argument 1 "arg1" : memref<8xi32>
// CHECK-DAG: %[[U:.*]] = weft_rt.buffer argument 2 "arg2" : memref<8x4xf32>
// CHECK-NOT: weft_rt.buffer arena
// CHECK: weft_rt.scatter_add %[[T]], %[[I]], %[[U]] base %c2
// CHECK-SAME: weft.op = "scatter #1", weft_rt.reads = array<i64: 0>, weft_rt.values = array<i64: 3, 1, 2>
func.func @scatter(%t: tensor<16x4xf32> {weft.name = "table"}, %i: tensor<8xi32>, %u: tensor<8x4xf32>)
    -> (tensor<16x4xf32> {weft.alias = 0 : index}) {
  %c2 = arith.constant 2 : index
  %r = weft.scatter_add %t, %i, %u base %c2 {axis = 0 : i64, weft.op = "scatter #1",
      table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<16x4xf32>, tensor<8xi32>, tensor<8x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// Constants, and kernels with scalars.

// CHECK-LABEL: func @scalars()
// CHECK-DAG: %[[X:.*]] = weft_rt.buffer argument 0 "arg0" : memref<2xf32>
// CHECK-DAG: %[[P:.*]] = weft_rt.buffer result 0 "result0" : memref<2xf32>
// CHECK-DAG: %[[C:.*]] = weft_rt.buffer result 1 "result1" : memref<2xf32>
// CHECK: %[[V:.*]] = weft_rt.read_scalar %[[X]][%{{.*}}] {weft_rt.values = array<i64: 0>} : memref<2xf32>
// CHECK: weft_rt.fused ins() scalars(%[[V]] : f32) outs(%[[P]] : memref<2xf32>)
// CHECK: weft_rt.values = array<i64: 1>
// CHECK: weft_rt.copy %{{.*}} to %[[C]] {weft_rt.values = array<i64: 2, 2>} : memref<2xf32> to memref<2xf32>
func.func @scalars(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c1 = arith.constant 1 : index
  %v = tensor.extract %x[%c1] : tensor<2xf32>
  %p = weft_rt.fused ins() scalars(%v : f32) -> tensor<2xf32> {
  ^bb0(%s: f32):
    %e = tensor.empty() : tensor<2xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<2xf32>) {
    ^bb0(%o: f32):
      linalg.yield %s : f32
    } -> tensor<2xf32>
    weft_rt.yield %f : tensor<2xf32>
  }
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %p, %c : tensor<2xf32>, tensor<2xf32>
}

// -----

// What is read without a value holds none.

// CHECK-LABEL: func @undefined()
// CHECK: %[[E:.*]] = weft_rt.buffer arena 0 "empty" : memref<4xf32>
// CHECK: weft_rt.assemble %[[E]] value 0 from [] : memref<4xf32>
// CHECK: weft_rt.values = array<i64: 0, 0>
func.func @undefined() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

#row = affine_map<(i) -> (i)>

// A slice at an offset that is not known is read there, but not overwritten: no
// proof could tell what lies in its root then. Places that are alike are one
// view.

// CHECK-LABEL: func @slices()
// CHECK: scf.for
// CHECK: %[[S:.*]] = weft_rt.view %[[X:[0-9]+]] at 0 plus %{{.*}} : memref<5x4xf32> to memref<4xf32>
// CHECK-NOT: weft_rt.view %[[X]]
// CHECK-NOT: outs(%[[S]]
// CHECK: weft_rt.fused ins(%[[S]] : memref<4xf32>) outs(%{{.*}}, %{{.*}} : memref<4xf32>, memref<4xf32>)
// CHECK: weft_rt.fused ins(%[[S]] : memref<4xf32>) outs(%{{.*}} : memref<4xf32>)
func.func @slices(%x: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> (tensor<5x4xf32>) {
    %e = tensor.empty() : tensor<5x4xf32>
    %s = tensor.extract_slice %a[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %d:2 = weft_rt.fused ins(%s : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %n = tensor.empty() : tensor<4xf32>
      %p:2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
          ins(%v : tensor<4xf32>) outs(%n, %n : tensor<4xf32>, tensor<4xf32>) {
      ^bb0(%in: f32, %o0: f32, %o1: f32):
        %q = arith.addf %in, %in : f32
        %m = arith.mulf %in, %in : f32
        linalg.yield %q, %m : f32, f32
      } -> (tensor<4xf32>, tensor<4xf32>)
      weft_rt.yield %p#0, %p#1 : tensor<4xf32>, tensor<4xf32>
    }
    %k = tensor.insert_slice %d#0 into %e[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    %l = tensor.insert_slice %s into %k[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    scf.yield %l : tensor<5x4xf32>
  }
  return %r : tensor<5x4xf32>
}
