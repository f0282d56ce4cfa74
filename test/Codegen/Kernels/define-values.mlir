// RUN: weft-opt %s --weft-define-values | FileCheck %s

// CHECK-LABEL: func @to_integers
func.func @to_integers(%x: f32, %h: bf16) -> (i32, i8) {
  // CHECK: llvm.call_intrinsic "llvm.fptosi.sat"(%{{.*}}) : (f32) -> i32
  // CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: llvm.call_intrinsic "llvm.fptoui.sat"(%[[W]]) : (f32) -> i8
  %0 = arith.fptosi %x : f32 to i32
  %1 = arith.fptoui %h : bf16 to i8
  return %0, %1 : i32, i8
}

// A shift by a constant within the width is what it is.

// CHECK-LABEL: func @shifts
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
func.func @shifts(%a: i32, %b: i32) -> (i32, i32, i32) {
  %c3 = arith.constant 3 : i32
  // CHECK: arith.shli %[[A]], %c3
  %0 = arith.shli %a, %c3 : i32
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[B]], %c32
  // CHECK: %[[AMOUNT:.*]] = arith.select %[[IN]], %[[B]], %c31
  // CHECK: arith.shrsi %[[A]], %[[AMOUNT]]
  %1 = arith.shrsi %a, %b : i32
  // CHECK: %[[IN2:.*]] = arith.cmpi ult, %[[B]], %c32
  // CHECK: %[[AMOUNT2:.*]] = arith.select %[[IN2]], %[[B]], %c0
  // CHECK: %[[SHIFTED:.*]] = arith.shrui %[[A]], %[[AMOUNT2]]
  // CHECK: arith.select %[[IN2]], %[[SHIFTED]], %c0
  %2 = arith.shrui %a, %b : i32
  return %0, %1, %2 : i32, i32, i32
}

// CHECK-LABEL: func @divisions
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
func.func @divisions(%a: i32, %b: i32) -> (i32, i32, i32) {
  %c7 = arith.constant 7 : i32
  // CHECK: arith.divsi %[[A]], %c7
  %0 = arith.divsi %a, %c7 : i32
  // CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %c1{{.*}}, %[[B]]
  // CHECK: %[[Q:.*]] = arith.divui %[[A]], %[[SAFE]] :
  // CHECK: arith.select %{{.*}}, %c-1{{.*}}, %[[Q]]
  %1 = arith.divui %a, %b : i32
  // CHECK-NOT: arith.floordivsi
  %2 = arith.floordivsi %a, %b : i32
  return %0, %1, %2 : i32, i32, i32
}

// What LLVM has no word for.

// CHECK-LABEL: func @of_math
// CHECK-SAME: (%[[A:.*]]: i8, %[[B:.*]]: i8, %[[X:.*]]: f32, %[[L:.*]]: f32)
func.func @of_math(%a: i8, %b: i8, %x: f32, %l: f32) -> (i8, i1, i1, f32) {
  // CHECK-NOT: math.ipowi
  // CHECK-COUNT-14: arith.muli
  // CHECK: arith.cmpi slt, %[[B]]
  %0 = math.ipowi %a, %b : i8
  // CHECK: arith.cmpf ogt
  %1 = math.isinf %x : f32
  // CHECK: arith.cmpf oge
  // CHECK: arith.cmpf ole
  %2 = math.isnormal %x : f32
  // CHECK: %[[M:.*]] = arith.maximumf %[[X]], %[[L]]
  // CHECK: arith.minimumf %[[M]], %[[L]]
  %3 = math.clampf %x to [%l, %l] : f32
  return %0, %1, %2, %3 : i8, i1, i1, f32
}
