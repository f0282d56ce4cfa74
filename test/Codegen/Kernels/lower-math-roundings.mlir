// RUN: weft-opt %s --math-extend-to-supported-types --weft-lower-math | FileCheck %s
// RUN: sed 's/module attributes.*{$/module {/' %s | weft-opt - --math-extend-to-supported-types --weft-lower-math \
// RUN:   | FileCheck %s --check-prefix=FAST

// Two functions of bf16 in one kernel: where bits must not depend on what is
// fused, the first result is rounded before the second function sees it.
// CHECK-LABEL: func @chain
// CHECK: arith.extf
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %[[ROUNDED]] : bf16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: return
// FAST-LABEL: func @chain
// FAST-COUNT-1: : f32 to bf16
// FAST-NOT: : f32 to bf16
// FAST: return
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @chain(%x: bf16) -> bf16 {
    %0 = math.exp2 %x : bf16
    %1 = math.atan %0 : bf16
    return %1 : bf16
  }
}
