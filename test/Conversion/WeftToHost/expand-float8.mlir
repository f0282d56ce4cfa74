// RUN: weft-opt %s --weft-expand-float8 | FileCheck %s

// What becomes f8 or was f8 is i8; no conversion of f8 is left.

// CHECK-LABEL: llvm.func @through
// CHECK-SAME: (%{{.*}}: i8, %{{.*}}: f64) -> i8
// CHECK-NOT: f8E
// CHECK: llvm.return %{{.*}} : i8
llvm.func @through(%x: i8, %y: f64) -> i8 {
  %0 = arith.bitcast %x : i8 to f8E4M3FN
  %1 = arith.extf %0 : f8E4M3FN to f32
  %2 = arith.truncf %1 : f32 to f8E5M2
  %3 = arith.truncf %y : f64 to f8E5M2
  %4 = arith.constant 1.5 : f8E5M2
  %c = arith.constant true
  %5 = arith.select %c, %2, %3 : f8E5M2
  %6 = arith.select %c, %5, %4 : f8E5M2
  %7 = arith.bitcast %6 : f8E5M2 to i8
  llvm.return %7 : i8
}
