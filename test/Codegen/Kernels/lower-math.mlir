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

// Functions that have formulas: no op of math is left but what IEEE defines,
// and formulas have no flags.

// CHECK-LABEL: func @functions
// CHECK-NOT: math.{{(acos|asin|atan|cbrt|cos|erf|exp|fpowi|log|pow|rsqrt|sin|tan)}}
// CHECK-NOT: fastmath
// CHECK: return
func.func @functions(%x: f32, %y: f32, %n: i32) -> (f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.log %0 : f32
  %2 = math.tanh %1 : f32
  %3 = math.erf %2 : f32
  %4 = math.log1p %3 : f32
  %5 = math.expm1 %4 : f32
  %6 = math.sin %5 : f32
  %7 = math.cos %6 : f32
  %8 = math.tan %7 : f32
  %9 = math.exp2 %8 : f32
  %10 = math.log2 %9 : f32
  %11 = math.log10 %10 : f32
  %12 = math.cbrt %11 : f32
  %13 = math.atan %12 : f32
  %14 = math.asin %13 : f32
  %15 = math.acos %14 : f32
  %16 = math.sinh %15 : f32
  %17 = math.cosh %16 : f32
  %18 = math.rsqrt %17 : f32
  %19 = math.powf %18, %y : f32
  %20 = math.atan2 %19, %y : f32
  %21 = math.fpowi %20, %n : f32, i32
  %22 = math.erfc %21 : f32
  %23 = math.asinh %22 : f32
  %24 = math.acosh %23 : f32
  %25 = math.atanh %24 : f32
  return %25, %19 : f32, f32
}

// -----

// CHECK-LABEL: func @wide
// CHECK-NOT: math.{{(acos|asin|atan|cbrt|cos|erf|exp|fpowi|log|pow|rsqrt|sin|tan)}}
// CHECK-NOT: fastmath
// CHECK: return
func.func @wide(%x: f64, %y: f64, %n: i32) -> f64 {
  %0 = math.exp %x : f64
  %1 = math.log %0 : f64
  %2 = math.tanh %1 : f64
  %3 = math.rsqrt %2 : f64
  %4 = math.exp2 %3 : f64
  %5 = math.expm1 %4 : f64
  %6 = math.log2 %5 : f64
  %7 = math.log10 %6 : f64
  %8 = math.log1p %7 : f64
  %9 = math.erf %8 : f64
  %10 = math.erfc %9 : f64
  %11 = math.sin %10 : f64
  %12 = math.cos %11 : f64
  %13 = math.tan %12 : f64
  %14 = math.atan %13 : f64
  %15 = math.asin %14 : f64
  %16 = math.acos %15 : f64
  %17 = math.sinh %16 : f64
  %18 = math.cosh %17 : f64
  %19 = math.asinh %18 : f64
  %20 = math.acosh %19 : f64
  %21 = math.atanh %20 : f64
  %22 = math.cbrt %21 : f64
  %23 = math.powf %22, %y : f64
  %24 = math.atan2 %23, %y : f64
  %25 = math.fpowi %24, %n : f64, i32
  return %25 : f64
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

// -----

// CHECK-LABEL: func @narrow_fma
// CHECK: %[[SUM:.*]] = math.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf %[[SUM]] : f32 to bf16
func.func @narrow_fma(%x: bf16) -> bf16 {
  %0 = math.fma %x, %x, %x : bf16
  return %0 : bf16
}
