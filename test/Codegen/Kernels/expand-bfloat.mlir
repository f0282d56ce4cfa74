// RUN: weft-opt %s --weft-expand-bfloat | FileCheck %s
// RUN: weft-opt %s --weft-expand-bfloat=extend-only | FileCheck %s --check-prefix=EXTEND

// Only what is extended changes.

// EXTEND-LABEL: func @convert
// EXTEND: arith.truncf %{{.*}} : f32 to bf16
// EXTEND-NOT: arith.extf
// EXTEND: arith.shli
// EXTEND: arith.maximumf
// EXTEND-LABEL: llvm.func @choose
// EXTEND: arith.truncf
// EXTEND: llvm.store %{{.*}} : bf16, !llvm.ptr

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

// What kernels only move is 16 bits.

// CHECK-LABEL: llvm.func @choose
// CHECK-NOT: bf16
// CHECK: llvm.return
llvm.func @choose(%p: !llvm.ptr, %x: f32, %c: i1) {
  %zero = arith.constant 0.0 : bf16
  %zeros = arith.constant dense<0.0> : vector<4xbf16>
  %0 = arith.truncf %x : f32 to bf16
  %1 = arith.select %c, %0, %zero : bf16
  llvm.store %1, %p : bf16, !llvm.ptr
  llvm.store %zeros, %p : vector<4xbf16>, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @widen
// CHECK: arith.extf %{{.*}} : f32 to f64
llvm.func @widen(%p: !llvm.ptr) -> f64 {
  %0 = llvm.load %p : !llvm.ptr -> bf16
  %1 = arith.extf %0 : bf16 to f64
  llvm.return %1 : f64
}

// A maximum is one of the two: what is cut off is 0, also of denormals.
// EXTEND-LABEL: func.func @most
// EXTEND: %[[MOST:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// EXTEND: %[[BITS:.+]] = arith.bitcast %[[MOST]] : f32 to i32
// EXTEND: %[[HIGH:.+]] = arith.shrui %[[BITS]], %{{.+}} : i32
// EXTEND: %[[SHORT:.+]] = arith.trunci %[[HIGH]] : i32 to i16
// EXTEND: arith.bitcast %[[SHORT]] : i16 to bf16
func.func @most(%a: bf16, %b: bf16) -> bf16 {
  %0 = arith.maximumf %a, %b : bf16
  return %0 : bf16
}

// EXTEND-LABEL: func.func @magnitude
// EXTEND: %[[BITS:.+]] = arith.bitcast %arg0 : bf16 to i16
// EXTEND: %[[MASK:.+]] = arith.constant 32767 : i16
// EXTEND: %[[CLEARED:.+]] = arith.andi %[[BITS]], %[[MASK]] : i16
// EXTEND: %[[RESULT:.+]] = arith.bitcast %[[CLEARED]] : i16 to bf16
// EXTEND-NEXT: return %[[RESULT]]
func.func @magnitude(%a: bf16) -> bf16 {
  %0 = arith.extf %a : bf16 to f32
  %1 = math.absf %0 : f32
  %2 = arith.truncf %1 : f32 to bf16
  return %2 : bf16
}

// Maxima of magnitudes that emulation took to f32 and back are not rounded; the
// NaN is that of a rounding.
// CHECK-LABEL: func.func @maxima
// CHECK: math.absf
// CHECK: arith.maximumf
// CHECK-NOT: arith.addi
// CHECK: math.absf
// CHECK: arith.maximumf
// CHECK-NOT: arith.addi
// CHECK: arith.cmpf uno
// CHECK: arith.constant 32704 : i16
// CHECK: arith.select
// CHECK-NOT: arith.cmpf
// CHECK: return
func.func @maxima(%a: bf16, %b: bf16, %c: bf16) -> bf16 {
  %0 = arith.extf %a : bf16 to f32
  %1 = math.absf %0 : f32
  %2 = arith.truncf %1 : f32 to bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.extf %b : bf16 to f32
  %5 = arith.maximumf %3, %4 : f32
  %6 = arith.truncf %5 : f32 to bf16
  %7 = arith.extf %c : bf16 to f32
  %8 = math.absf %7 : f32
  %9 = arith.truncf %8 : f32 to bf16
  %10 = arith.extf %6 : bf16 to f32
  %11 = arith.extf %9 : bf16 to f32
  %12 = arith.maximumf %10, %11 : f32
  %13 = arith.truncf %12 : f32 to bf16
  return %13 : bf16
}

// What else reads the f32 has the NaN of the rounding.
// CHECK-LABEL: func.func @read_wide
// CHECK: arith.maximumf
// CHECK: arith.select
// CHECK: arith.mulf
func.func @read_wide(%a: bf16, %b: bf16) -> f32 {
  %0 = arith.extf %a : bf16 to f32
  %1 = arith.extf %b : bf16 to f32
  %2 = arith.maximumf %0, %1 : f32
  %3 = arith.truncf %2 : f32 to bf16
  %4 = arith.extf %3 : bf16 to f32
  %5 = arith.mulf %4, %4 : f32
  return %5 : f32
}
