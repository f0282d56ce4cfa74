// RUN: weft-opt %s --weft-expand-bfloat | FileCheck %s

// Rounding to bf16 is integer arithmetic; a maximum stays one op, which says
// which zero is the larger.

// CHECK-LABEL: func @convert
func.func @convert(%x: f32, %y: bf16) -> (bf16, f32, f32) {
  // CHECK-NOT: arith.truncf
  // CHECK-NOT: arith.extf
  // CHECK: arith.trunci %{{.*}} : i32 to i16
  // CHECK: arith.bitcast %{{.*}} : i16 to bf16
  // CHECK: arith.extui %{{.*}} : i16 to i32
  // CHECK: arith.bitcast %{{.*}} : i32 to f32
  // CHECK: arith.maximumf
  %0 = arith.truncf %x : f32 to bf16
  %1 = arith.extf %y : bf16 to f32
  %2 = arith.maximumf %x, %1 : f32
  return %0, %1, %2 : bf16, f32, f32
}
