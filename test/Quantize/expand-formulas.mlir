// RUN: weft-opt --weft-expand-formulas %s | FileCheck %s
// RUN: weft-opt --weft-expand-formulas --weft-expand-float8 %s | FileCheck %s --check-prefix=BITS

// CHECK-NOT: weft.
// CHECK-LABEL: func @round
func.func @round(%x: f32) -> (f8E4M3FN, f8E5M2) {
  // CHECK: arith.minimumf
  // CHECK: arith.truncf %{{.*}} : f32 to f8E4M3FN
  %0 = weft.round_f8 %x : f8E4M3FN
  // CHECK: arith.truncf %{{.*}} : f32 to f8E5M2
  %1 = weft.round_f8 %x : f8E5M2
  return %0, %1 : f8E4M3FN, f8E5M2
}

// What is saturated is seen to be.
// BITS-LABEL: func @round
// BITS-NOT: arith.minimumf
// BITS: return

// CHECK-LABEL: func @scale
func.func @scale(%a: f32, %t: f32) -> (f32, f8E8M0FNU, f32, f8E4M3FN, f32) {
  %0 = weft.multiplier_of %a {element = f8E4M3FN, scale = f8E8M0FNU}
  // CHECK: arith.bitcast %{{.*}} : i8 to f8E8M0FNU
  %1 = weft.scale_of %a {element = f8E4M3FN} : f8E8M0FNU
  %2 = weft.multiplier_of %a of %t {element = f4E2M1FN, scale = f8E4M3FN}
  // CHECK: arith.truncf %{{.*}} : f32 to f8E4M3FN
  %3 = weft.scale_of %a of %t {element = f4E2M1FN} : f8E4M3FN
  // CHECK: arith.divf
  %4 = weft.scale_of %a {element = f8E5M2, power_of_two} : f32
  return %0, %1, %2, %3, %4 : f32, f8E8M0FNU, f32, f8E4M3FN, f32
}

// CHECK-LABEL: func @bits
func.func @bits(%x: f32, %row: index, %half: index, %key: i32, %s: f8E8M0FNU) -> (i8, f32, f32) {
  // CHECK: arith.index_cast %{{.*}} : index to i64
  // CHECK: arith.constant 2 : i32
  // CHECK: arith.addi
  %i = weft.place %row, %half of [16, 2] : i32
  // CHECK: arith.muli
  %0 = weft.mix_bits %key
  // CHECK: arith.shrui
  %1 = weft.random_bits %key, %0, %i : i32
  // CHECK: arith.uitofp
  %2 = weft.round_f4 %x at %half random %1
  // CHECK: arith.trunci %{{.*}} : i32 to i8
  // CHECK: arith.extui %{{.*}} : i8 to i32
  %3 = weft.decode %2 at %half : i8
  // CHECK: arith.bitcast %{{.*}} : f8E8M0FNU to i8
  %4 = weft.decode %s : f8E8M0FNU
  return %2, %3, %4 : i8, f32, f32
}
