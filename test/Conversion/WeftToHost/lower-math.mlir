// RUN: weft-opt %s --weft-lower-math -split-input-file | FileCheck %s

// What a loop sums up may be reordered; nothing else.

// CHECK-LABEL: func @sums
func.func @sums(%x: f32, %n: index) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
  // CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.subf %{{.*}}, %{{.*}} fastmath<contract> : f32
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x) -> (f32, f32, f32) {
    %p = arith.mulf %x, %x : f32
    %s = arith.addf %a, %p : f32
    %m = arith.maximumf %b, %x : f32
    %d = arith.subf %x, %c : f32
    scf.yield %s, %m, %d : f32, f32, f32
  }
  // CHECK: arith.addf %{{.*}}#0, %{{.*}}#1 fastmath<contract> : f32
  // CHECK: arith.divf %{{.*}}, %{{.*}} : f32
  %t = arith.addf %r#0, %r#1 : f32
  %q = arith.divf %t, %r#2 : f32
  return %q, %r#1, %r#2 : f32, f32, f32
}

// -----

// Narrow types round each op.

// CHECK-LABEL: func @narrow
func.func @narrow(%x: bf16, %y: f16) -> (bf16, f16) {
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : bf16
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f16
  %p = arith.mulf %x, %x : bf16
  %s = arith.addf %y, %y : f16
  return %p, %s : bf16, f16
}

// -----

// CHECK-LABEL: func @halve
func.func @halve(%x: f64) -> bf16 {
  // CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
  // CHECK: arith.truncf %[[F]] : f32 to bf16
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}

// -----

// CHECK-LABEL: func @functions
// CHECK-NOT: math.exp
// CHECK-NOT: math.log
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK: math.copysign
// CHECK-NOT: math.log1p
// CHECK-NOT: math.expm1
// CHECK: math.sin
// CHECK: math.exp %{{.*}} : f64
func.func @functions(%x: f32, %y: f64) -> (f32, f32, f32, f32, f32, f32, f32, f64) {
  %0 = math.exp %x : f32
  %1 = math.log %x : f32
  %2 = math.tanh %x : f32
  %3 = math.erf %x : f32
  %4 = math.log1p %x : f32
  %5 = math.expm1 %x : f32
  %6 = math.sin %x : f32
  %7 = math.exp %y : f64
  return %0, %1, %2, %3, %4, %5, %6, %7 : f32, f32, f32, f32, f32, f32, f32, f64
}

// -----

// What must not depend on the mesh is neither reordered nor contracted, and says
// which of two zeros is larger.

// CHECK-LABEL: module attributes {weft.invariance
// CHECK-NOT: fastmath
// CHECK: return
// CHECK-LABEL: func @larger(
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK: %[[XN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[A:.*]] = arith.select %[[XN]], %[[Y]], %[[X]]
// CHECK: %[[YN:.*]] = arith.cmpf uno, %[[Y]], %[[Y]]
// CHECK: %[[B:.*]] = arith.select %[[YN]], %[[X]], %[[Y]]
// CHECK: arith.maximumf %[[A]], %[[B]]
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @invariant(%x: f32, %n: index) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
      %p = arith.mulf %x, %x : f32
      %s = arith.addf %a, %p : f32
      scf.yield %s : f32
    }
    %e = math.exp %r : f32
    return %e : f32
  }
  func.func @larger(%x: f32, %y: f32) -> f32 {
    %m = arith.maxnumf %x, %y : f32
    return %m : f32
  }
}
