// RUN: weft-opt %s --weft-raise --split-input-file | FileCheck %s

// Named ops, elementwise ops on tensors and fills become linalg.generic.

// CHECK-LABEL: func @named_and_elementwise
//  CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>
func.func @named_and_elementwise(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[E]]
  // CHECK: arith.addf
  %sum = arith.addf %x, %y : tensor<4x8xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]] : {{.*}}) outs(%[[E]]
  // CHECK: math.exp
  %exp = linalg.exp ins(%sum : tensor<4x8xf32>) outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %exp : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @scalars
//  CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>
func.func @scalars(%x: tensor<8xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-DAG: %[[CST:.*]] = arith.constant 2.0
  %cst = arith.constant 2.0 : f32
  %scalar = tensor.extract %s[] : tensor<f32>
  %e = tensor.empty() : tensor<8xf32>
  // CHECK: linalg.generic {{.*}} outs(
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: linalg.yield %[[CST]]
  %0 = linalg.fill ins(%cst : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[S]] : tensor<f32>)
  %1 = tensor.splat %scalar : tensor<8xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[S]] : tensor<8xf32>, tensor<f32>)
  %2 = linalg.map ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>)
    (%in: f32, %out: f32) {
      %p = arith.mulf %in, %scalar : f32
      linalg.yield %p : f32
    }
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func @two_results
func.func @two_results(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NOT: math.sincos
  // CHECK: %[[S:.*]] = linalg.generic
  // CHECK: math.sin %
  // CHECK: %[[C:.*]] = linalg.generic
  // CHECK: math.cos %
  // CHECK: return %[[S]], %[[C]]
  %s, %c = math.sincos %x : tensor<8xf32>
  return %s, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func @structured
func.func @structured(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8x4xf32>, tensor<2x4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %t = tensor.empty() : tensor<8x4xf32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x4xf32>)
  %1 = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
  %b = tensor.empty() : tensor<2x4x8xf32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x8xf32>)
  %2 = linalg.broadcast ins(%x : tensor<4x8xf32>) outs(%b : tensor<2x4x8xf32>) dimensions = [0]
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
  // CHECK: linalg.index 0
  // CHECK: linalg.index 1
  %3 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %k = arith.addi %i, %j : index
    %l = arith.index_cast %k : index to i32
    %m = arith.sitofp %l : i32 to f32
    tensor.yield %m : f32
  } : tensor<4x8xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<8x4xf32>, tensor<2x4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @softmax
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  // CHECK-NOT: linalg.softmax
  // CHECK: arith.maxnumf
  // CHECK: math.exp
  // CHECK: arith.divf
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A cast back to the condition's scalar: it stays a scalar in the body.

// CHECK-LABEL: func @select
//  CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>
func.func @select(%c: tensor<i1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]], %[[C]] : tensor<8xf32>, tensor<8xf32>, tensor<i1>)
  // CHECK: arith.select
  %0 = arith.select %b, %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Private functions are inlined, with what their arguments and results say
// about sharding; locations tell both places.

weft.mesh @mesh = <["dp"=2]>

// CHECK-NOT: func private
// CHECK-LABEL: func @calls
func.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: weft.shard %{{.*}} to <@mesh, [{"dp"}]>
  // CHECK: math.exp
  // CHECK-NOT: call
  %0 = func.call @once(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @once(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<8xf32> {
  %0 = call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// A loop over layers is unrolled; one of too many iterations stays whole.

// CHECK-LABEL: func @loops
//  CHECK-SAME: %[[W:.*]]: tensor<2x8xf32>
func.func @loops(%w: tensor<2x8xf32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c1000 = arith.constant 1000 : index
  // CHECK: tensor.extract_slice %[[W]][0, 0] [1, 8] [1, 1]
  // CHECK: tensor.extract_slice %[[W]][1, 0] [1, 8] [1, 1]
  %0 = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %x) -> tensor<8xf32> {
    %row = tensor.extract_slice %w[%i, 0] [1, 8] [1, 1] : tensor<2x8xf32> to tensor<8xf32>
    %next = arith.mulf %acc, %row : tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  %1 = scf.for %i = %c0 to %c1000 step %c1 iter_args(%acc = %x) -> tensor<8xf32> {
    %next = arith.mulf %acc, %x : tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two conditions that are one: the inner branch is decided, and what only it
// took is gone.

// CHECK-LABEL: func @decided
//  CHECK-SAME: %[[N:.*]]: tensor<i32>, %[[X:.*]]: tensor<8xf32>
func.func @decided(%n: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %a = tensor.extract %n[] : tensor<i32>
  %outer = arith.cmpi eq, %a, %c0 : i32
  %b = tensor.extract %n[] : tensor<i32>
  %inner = arith.cmpi eq, %b, %c0 : i32
  // CHECK: scf.if
  // CHECK-NOT: scf.if
  // CHECK-NOT: math.exp
  // CHECK: math.tanh
  // CHECK: return
  %0 = scf.if %outer -> tensor<8xf32> {
    scf.yield %x : tensor<8xf32>
  } else {
    %1 = scf.if %inner -> tensor<8xf32> {
      %2 = math.exp %x : tensor<8xf32>
      scf.yield %2 : tensor<8xf32>
    } else {
      %2 = math.tanh %x : tensor<8xf32>
      scf.yield %2 : tensor<8xf32>
    }
    scf.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
