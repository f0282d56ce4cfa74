// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft-convert-float8)' | FileCheck %s

// Two roundings of a block are one instruction; what depends on the first one
// stands after it. A third is alone.

module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>} {
  // CHECK-LABEL: func @three(
  // CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32, %[[Z:.*]]: f32)
  // CHECK: %[[XY:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%[[Y]], %[[X]]) : (f32, f32) -> i16
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : i16
  // CHECK: %[[HIGH:.*]] = arith.shrui %[[XY]], %[[EIGHT]]
  // CHECK: %[[BY:.*]] = arith.trunci %[[HIGH]] : i16 to i8
  // CHECK: %[[FY:.*]] = arith.bitcast %[[BY]] : i8 to f8E4M3FN
  // CHECK: %[[BX:.*]] = arith.trunci %[[XY]] : i16 to i8
  // CHECK: %[[FX:.*]] = arith.bitcast %[[BX]] : i8 to f8E4M3FN
  // CHECK: %[[CX:.*]] = arith.bitcast %[[FX]] : f8E4M3FN to i8
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%[[ZERO]], %[[Z]])
  // CHECK-NOT: arith.truncf
  // CHECK: return %[[CX]], %[[FY]],
  func.func @three(%x: f32, %y: f32, %z: f32) -> (i8, f8E4M3FN, f8E4M3FN) {
    %least = arith.constant -448.0 : f32
    %most = arith.constant 448.0 : f32
    %x0 = arith.minimumf %x, %most : f32
    %x1 = arith.maximumf %x0, %least : f32
    %x2 = arith.truncf %x1 : f32 to f8E4M3FN
    %x3 = arith.bitcast %x2 : f8E4M3FN to i8
    %y0 = arith.minimumf %y, %most : f32
    %y1 = arith.maximumf %y0, %least : f32
    %y2 = arith.truncf %y1 : f32 to f8E4M3FN
    %z0 = arith.minimumf %z, %most : f32
    %z1 = arith.maximumf %z0, %least : f32
    %z2 = arith.truncf %z1 : f32 to f8E4M3FN
    return %x3, %y2, %z2 : i8, f8E4M3FN, f8E4M3FN
  }

  // What is not in the range is an infinity, or NaN: no instruction has that. The
  // NaN of f8E5M2 is another one.
  // CHECK-LABEL: func @others(
  // CHECK: arith.truncf %{{.*}} : f32 to f8E4M3FN
  // CHECK: arith.truncf %{{.*}} : f32 to f8E5M2
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"
  // CHECK: arith.select %{{.*}} : i8
  // CHECK: arith.truncf %{{.*}} : vector<4xf32>
  func.func @others(%x: f32, %v: vector<4xf32>) -> (f8E4M3FN, f8E5M2, f8E5M2, vector<4xf8E4M3FN>) {
    %least = arith.constant -57344.0 : f32
    %most = arith.constant 57344.0 : f32
    %a = arith.truncf %x : f32 to f8E4M3FN
    %below = arith.minimumf %x, %most : f32
    %b = arith.truncf %below : f32 to f8E5M2
    %inside = arith.maximumf %below, %least : f32
    %c = arith.truncf %inside : f32 to f8E5M2
    %d = arith.truncf %v : vector<4xf32> to vector<4xf8E4M3FN>
    return %a, %b, %c, %d : f8E4M3FN, f8E5M2, f8E5M2, vector<4xf8E4M3FN>
  }

  // The second rounding needs the first one.
  // CHECK-LABEL: func @chain(
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
  func.func @chain(%x: f32) -> f8E4M3FN {
    %least = arith.constant -448.0 : f32
    %most = arith.constant 448.0 : f32
    %x0 = arith.minimumf %x, %most : f32
    %x1 = arith.maximumf %x0, %least : f32
    %x2 = arith.truncf %x1 : f32 to f8E4M3FN
    %y = arith.extf %x2 : f8E4M3FN to f32
    %y0 = arith.minimumf %y, %most : f32
    %y1 = arith.maximumf %y0, %least : f32
    %y2 = arith.truncf %y1 : f32 to f8E4M3FN
    return %y2 : f8E4M3FN
  }

  // CHECK-LABEL: func @widen(
  // CHECK: %[[HALVES:.*]] = llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"(%{{.*}}) : (i16) -> vector<2xf16>
  // CHECK: llvm.extractelement %[[HALVES]]
  // CHECK: llvm.extractelement %[[HALVES]]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"
  // CHECK-NOT: arith.extf {{.*}} : f8
  func.func @widen(%x: f8E5M2, %y: f8E5M2, %z: f8E4M3FN) -> (f32, f32, bf16) {
    %a = arith.extf %x : f8E5M2 to f32
    %b = arith.extf %y : f8E5M2 to f32
    %c = arith.extf %z : f8E4M3FN to bf16
    return %a, %b, %c : f32, f32, bf16
  }
}

// -----

// Older GPUs have no such instruction.

module attributes {weft.target = #weft.target<"cuda", {arch = "sm_89"}>} {
  // CHECK-LABEL: func @old(
  // CHECK: arith.truncf
  // CHECK-NOT: llvm.
  func.func @old(%x: f32) -> f8E4M3FN {
    %least = arith.constant -448.0 : f32
    %most = arith.constant 448.0 : f32
    %x0 = arith.minimumf %x, %most : f32
    %x1 = arith.maximumf %x0, %least : f32
    %x2 = arith.truncf %x1 : f32 to f8E4M3FN
    return %x2 : f8E4M3FN
  }
}
