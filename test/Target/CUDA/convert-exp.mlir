// RUN: weft-opt %s --split-input-file --weft-convert-exp | FileCheck %s

// The exponent in low bits, and the rest, whose power the instruction gives.

// CHECK-LABEL: func @one(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: %[[PART:.*]] = llvm.call_intrinsic "llvm.nvvm.fma.rn.sat.f"(%[[X]],
// CHECK: %[[SHIFTED:.*]] = math.fma %[[PART]],
// CHECK: %[[MINUS:.*]] = arith.subf %{{.*}}, %[[SHIFTED]] : f32
// CHECK: %[[HIGH:.*]] = math.fma %[[X]], %{{.*}}, %[[MINUS]]
// CHECK: %[[REST:.*]] = math.fma %[[X]], %{{.*}}, %[[HIGH]]
// CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[REST]])
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : f32 to i32
// CHECK: %[[MOVED:.*]] = arith.shli %[[BITS]],
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[MOVED]] : i32 to f32
// CHECK: %[[Y:.*]] = arith.mulf %[[POWER]], %[[SCALE]]
// CHECK: return %[[Y]]
func.func @one(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func @wide(
// CHECK: math.exp %{{.*}} : f64
func.func @wide(%x: f64) -> f64 {
  %y = math.exp %x : f64
  return %y : f64
}

// -----

// The host's bits.
module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 8>} {
  // CHECK-LABEL: func @invariant(
  // CHECK: math.exp %{{.*}} : f32
  func.func @invariant(%x: f32) -> f32 {
    %y = math.exp %x : f32
    return %y : f32
  }
}
