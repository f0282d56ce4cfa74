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

// A step or an extent that is not known, or one that may pass the largest
// number: passes are counted, as an index.

// CHECK-LABEL: func @counted
// CHECK-SAME: (%[[N:.*]]: i32, %[[S:.*]]: i32, %[[M:.*]]: index)
func.func @counted(%n: i32, %s: i32, %m: index) -> (i32, i32, i32, i32, index) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c9 = arith.constant 9 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  // CHECK: %[[UP:.*]] = arith.cmpi slt, %{{.*}}, %[[S]]
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[N]], %c9
  // CHECK: %[[RUNS:.*]] = arith.andi %[[UP]], %[[ANY]]
  // CHECK: %[[STEP:.*]] = arith.select %[[UP]], %[[S]],
  // CHECK: %[[SPAN:.*]] = arith.subi %c9{{.*}}, %[[N]]
  // CHECK: %[[COUNT:.*]] = arith.ceildivui %[[SPAN]], %[[STEP]]
  // CHECK: %[[SOME:.*]] = arith.select %[[RUNS]], %[[COUNT]],
  // CHECK: %[[PASSES:.*]] = arith.index_castui %[[SOME]] : i32 to index
  // CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %[[PASSES]] step %c1{{.*}} -> (i32) {
  // CHECK:   %[[WIDE:.*]] = arith.index_cast %[[I]] : index to i64
  // CHECK:   %[[PASS:.*]] = arith.trunci %[[WIDE]] : i64 to i32
  // CHECK:   %[[MOVED:.*]] = arith.muli %[[PASS]], %[[S]]
  // CHECK:   arith.addi %[[N]], %[[MOVED]]
  %0 = scf.for %i = %n to %c9 step %s iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // CHECK: arith.ceildivui
  %1 = scf.for %i = %c0 to %n step %c2 iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // CHECK: arith.ceildivui
  %2 = scf.for %i = %n to %c9 step %c2 iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // Nothing is known to be wrong with these.
  // CHECK-NOT: arith.ceildivui
  // CHECK: scf.for %{{.*}} = %c0_i32 to %c9_i32 step %c2_i32 {{.*}} : i32 {
  %3 = scf.for %i = %c0 to %c9 step %c2 iter_args(%a = %c0) -> (i32) : i32 {
    scf.yield %i : i32
  }
  // CHECK: scf.for %{{.*}} = %[[M]] to %c1{{.*}} step %c1
  %4 = scf.for %i = %m to %i1 step %i1 iter_args(%a = %i0) -> (index) {
    scf.yield %i : index
  }
  // CHECK: arith.ceildivui
  // CHECK: arith.select
  // CHECK: arith.minui %{{.*}}, %c9223372036854775807
  %5 = scf.for unsigned %i = %m to %i1 step %i1 iter_args(%a = %4) -> (index) {
    scf.yield %i : index
  }
  return %0, %1, %2, %3, %5 : i32, i32, i32, i32, index
}

// Constants that are unsigned, or an extent that is not a signed number.

// CHECK-LABEL: func @constants
// CHECK-SAME: (%[[X:.*]]: i8)
func.func @constants(%x: i8) -> (i8, i8) {
  %c0 = arith.constant 0 : i8
  %c50 = arith.constant 50 : i8
  %c100 = arith.constant 100 : i8
  %c200 = arith.constant -56 : i8
  %low = arith.constant -100 : i8
  // CHECK: %[[C4:c4.*]] = arith.constant 4 : index
  // CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[C4]] step %c1
  %0 = scf.for unsigned %i = %c0 to %c200 step %c50 iter_args(%a = %x) -> (i8) : i8 {
    scf.yield %i : i8
  }
  // CHECK: %[[C2:c2.*]] = arith.constant 2 : index
  // CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[C2]] step %c1
  %1 = scf.for %i = %low to %c100 step %c100 iter_args(%a = %x) -> (i8) : i8 {
    scf.yield %i : i8
  }
  return %0, %1 : i8, i8
}

// A cast of an index to fewer bits drops the others, whatever follows.

// CHECK-LABEL: func @casts
// CHECK-SAME: (%[[X:.*]]: index, %[[T:.*]]: tensor<4xindex>)
func.func @casts(%x: index, %t: tensor<4xindex>) -> (index, tensor<4xi32>, i64) {
  // CHECK: %[[W:.*]] = arith.index_cast %[[X]] : index to i64
  // CHECK: %[[N:.*]] = arith.trunci %[[W]] : i64 to i8
  // CHECK: arith.index_cast %[[N]] : i8 to index
  %0 = arith.index_cast %x : index to i8
  %1 = arith.index_cast %0 : i8 to index
  // CHECK: %[[WT:.*]] = arith.index_cast %[[T]] : tensor<4xindex> to tensor<4xi64>
  // CHECK: arith.trunci %[[WT]] : tensor<4xi64> to tensor<4xi32>
  %2 = arith.index_castui %t : tensor<4xindex> to tensor<4xi32>
  // CHECK: arith.index_castui %[[X]] : index to i64
  %3 = arith.index_castui %x : index to i64
  return %1, %2, %3 : index, tensor<4xi32>, i64
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
