// RUN: weft-opt %s --weft-check-values | FileCheck %s

// Promises about operands go; what allows another rounding stays.

// CHECK-LABEL: func @flags
func.func @flags(%a: tensor<4xi32>, %b: tensor<4xi32>, %x: f32) -> (tensor<4xi32>, f32) {
  // CHECK: arith.addi %{{.*}}, %{{.*}} : tensor<4xi32>
  %0 = arith.addi %a, %b overflow<nsw, nuw> : tensor<4xi32>
  // CHECK: arith.shli %{{.*}}, %{{.*}} : tensor<4xi32>
  %1 = arith.shli %0, %b overflow<nsw> : tensor<4xi32>
  // CHECK: arith.divsi %{{.*}}, %{{.*}} : tensor<4xi32>
  %2 = arith.divsi %1, %b exact : tensor<4xi32>
  // CHECK: arith.shrui %{{.*}}, %{{.*}} : tensor<4xi32>
  %3 = arith.shrui %2, %b exact : tensor<4xi32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,nsz,arcp,contract,afn> : f32
  %4 = arith.addf %x, %x fastmath<fast> : f32
  // CHECK: math.sqrt %{{.*}} : f32
  %5 = math.sqrt %4 fastmath<nnan, ninf> : f32
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
  %6 = arith.mulf %5, %x fastmath<contract> : f32
  return %3, %6 : tensor<4xi32>, f32
}

// A step that is not known, or one that may pass the largest number: passes are
// counted.

// CHECK-LABEL: func @counted
// CHECK-SAME: (%[[N:.*]]: i32, %[[S:.*]]: i32)
func.func @counted(%n: i32, %s: i32) -> (i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c9 = arith.constant 9 : i32
  // CHECK: %[[UP:.*]] = arith.cmpi slt, %{{.*}}, %[[S]]
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[N]], %c9
  // CHECK: %[[RUNS:.*]] = arith.andi %[[UP]], %[[ANY]]
  // CHECK: %[[STEP:.*]] = arith.select %[[UP]], %[[S]],
  // CHECK: %[[SPAN:.*]] = arith.subi %c9{{.*}}, %[[N]]
  // CHECK: %[[COUNT:.*]] = arith.ceildivui %[[SPAN]], %[[STEP]]
  // CHECK: %[[PASSES:.*]] = arith.select %[[RUNS]], %[[COUNT]],
  // CHECK: scf.for unsigned %[[I:.*]] = %{{.*}} to %[[PASSES]] step
  // CHECK:   %[[MOVED:.*]] = arith.muli %[[I]], %[[S]]
  // CHECK:   arith.addi %[[N]], %[[MOVED]]
  %0 = scf.for %i = %n to %c9 step %s iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // CHECK: arith.ceildivui
  %1 = scf.for %i = %c0 to %n step %c2 iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // Nothing is known to be wrong with these.
  // CHECK-NOT: arith.ceildivui
  // CHECK: scf.for %{{.*}} = %[[N]] to %c9
  %2 = scf.for %i = %n to %c9 step %c2 iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  return %0, %1, %2 : i32, i32, i32
}

// Reads of what may become a constant, where nothing says that the element is
// there.

// CHECK-LABEL: func @reads
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: index)
func.func @reads(%x: tensor<4xf32>, %i: index) -> (f32, f32, f32, f32) {
  %t = arith.constant dense<5.0> : tensor<4xf32>
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %c4
  // CHECK: %[[AT:.*]] = arith.select %[[IN]], %[[I]], %c0
  // CHECK: %[[V:.*]] = tensor.extract %{{.*}}[%[[AT]]]
  // CHECK: arith.select %[[IN]], %[[V]], %cst
  %0 = tensor.extract %t[%i] : tensor<4xf32>
  // CHECK: tensor.extract %[[X]][%[[I]]]
  %1 = tensor.extract %x[%i] : tensor<4xf32>
  // CHECK: tensor.extract %cst{{.*}}[%c3]
  %2 = tensor.extract %t[%c3] : tensor<4xf32>
  // CHECK-NOT: tensor.extract
  %3 = tensor.extract %x[%c4] : tensor<4xf32>
  return %0, %1, %2, %3 : f32, f32, f32, f32
}
