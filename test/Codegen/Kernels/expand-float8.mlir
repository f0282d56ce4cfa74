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

// A NaN of any bits is one: 126 in f8E5M2, 127 in f8E4M3FN. The sign goes only with numbers.

// CHECK-LABEL: llvm.func @nan
// CHECK: %[[NUMBER:.*]] = arith.ori
// CHECK-NEXT: %[[IS_NAN:.*]] = arith.cmpf uno, %[[X:.*]], %[[X]] : f32
// CHECK-NEXT: %[[NAN:.*]] = arith.constant 126 : i32
// CHECK-NEXT: %[[CODE:.*]] = arith.select %[[IS_NAN]], %[[NAN]], %[[NUMBER]]
// CHECK-NEXT: arith.trunci %[[CODE]] : i32 to i8
// CHECK: arith.ori
// CHECK-NEXT: arith.cmpf uno
// CHECK-NEXT: arith.constant 127 : i32
llvm.func @nan(%x: f32) -> i16 {
  %0 = arith.truncf %x : f32 to f8E5M2
  %1 = arith.truncf %x : f32 to f8E4M3FN
  %2 = arith.bitcast %0 : f8E5M2 to i8
  %3 = arith.bitcast %1 : f8E4M3FN to i8
  %4 = arith.extui %2 : i8 to i16
  %5 = arith.extui %3 : i8 to i16
  %6 = arith.addi %4, %5 : i16
  llvm.return %6 : i16
}

// What was brought into the range before is rounded at once: no maximum of
// floats is left, and no code past the greatest is to be caught. NaN becomes
// 480, the number that its code would be.

// CHECK-LABEL: llvm.func @saturated
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK: arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[GREATEST:.*]] = arith.constant 4.480000e+02 : f32
// CHECK: %[[IS_MORE:.*]] = arith.cmpf olt, %[[GREATEST]], %[[MAGNITUDE:.*]] : f32
// CHECK: %[[FINITE:.*]] = arith.select %[[IS_MORE]], %[[GREATEST]], %[[MAGNITUDE]]
// CHECK: %[[NAN:.*]] = arith.constant 4.800000e+02 : f32
// CHECK: %[[IS_NUMBER:.*]] = arith.cmpf olt, %[[FINITE]], %[[NAN]] : f32
// CHECK: %[[LIMITED:.*]] = arith.select %[[IS_NUMBER]], %[[FINITE]], %[[NAN]]
// CHECK-NOT: arith.minui
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.addf %[[PRODUCT]], %[[LIMITED]] fastmath<contract> : f32
// CHECK-NOT: arith.cmpf uno
llvm.func @saturated(%x: f32) -> i8 {
  %least = arith.constant -448.0 : f32
  %most = arith.constant 448.0 : f32
  %0 = arith.minimumf %x, %most : f32
  %1 = arith.maximumf %0, %least : f32
  %2 = arith.truncf %1 : f32 to f8E4M3FN
  %3 = arith.bitcast %2 : f8E4M3FN to i8
  llvm.return %3 : i8
}

// What it stands for as f32 is the sum without the power: with the sign, also of
// zero, and but for NaN.

// CHECK-LABEL: llvm.func @saturated_widened
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[POWER:.*]], %{{.*}} fastmath<contract> : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %{{.*}} fastmath<contract> : f32
// CHECK: %[[NEGATIVE:.*]] = arith.mulf %[[POWER]], %{{.*}} fastmath<contract> : f32
// CHECK: arith.addf %[[NEGATIVE]], %[[SUM]] fastmath<contract> : f32
// CHECK: %[[SIGN:.*]] = arith.andi %[[BITS]], %{{.*}} : i32
// CHECK: %[[NUMBER:.*]] = arith.ori %{{.*}}, %[[SIGN]] : i32
// CHECK: %[[IS_NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
// CHECK: %[[WIDE:.*]] = arith.select %[[IS_NAN]], %{{.*}}, %[[NUMBER]] : i32
// CHECK: %[[RESULT:.*]] = arith.bitcast %[[WIDE]] : i32 to f32
// CHECK-NOT: arith.uitofp
// CHECK: llvm.return %[[RESULT]]
llvm.func @saturated_widened(%x: f32) -> f32 {
  %least = arith.constant -448.0 : f32
  %most = arith.constant 448.0 : f32
  %0 = arith.minimumf %x, %most : f32
  %1 = arith.maximumf %0, %least : f32
  %2 = arith.truncf %1 : f32 to f8E4M3FN
  %3 = arith.extf %2 : f8E4M3FN to f32
  llvm.return %3 : f32
}

// Another range is another value.

// CHECK-LABEL: llvm.func @negative_saturated
// CHECK: %[[LIMITED:.*]] = arith.maximumf
// CHECK: arith.bitcast %[[LIMITED]] : f32 to i32
llvm.func @negative_saturated(%x: f32) -> i8 {
  %least = arith.constant -440.0 : f32
  %most = arith.constant 448.0 : f32
  %0 = arith.minimumf %x, %most : f32
  %1 = arith.maximumf %0, %least : f32
  %2 = arith.truncf %1 : f32 to f8E4M3FN
  %3 = arith.bitcast %2 : f8E4M3FN to i8
  llvm.return %3 : i8
}

// Lanes of a sum are a vector; a range is one there, too.

// CHECK-LABEL: llvm.func @vector
// CHECK-SAME: (%{{.*}}: vector<4xi8>) -> vector<4xi8>
// CHECK-NOT: f8E
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.trunci %{{.*}} : vector<4xi32> to vector<4xi8>
// CHECK-NOT: f8E
// CHECK: llvm.return
llvm.func @vector(%x: vector<4xi8>) -> vector<4xi8> {
  %0 = arith.bitcast %x : vector<4xi8> to vector<4xf8E5M2>
  %1 = arith.extf %0 : vector<4xf8E5M2> to vector<4xf32>
  %2 = arith.addf %1, %1 : vector<4xf32>
  %3 = arith.truncf %2 : vector<4xf32> to vector<4xf8E4M3FN>
  %4 = arith.bitcast %3 : vector<4xf8E4M3FN> to vector<4xi8>
  llvm.return %4 : vector<4xi8>
}
