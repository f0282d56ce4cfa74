// RUN: weft-opt %s --weft-check-values | FileCheck %s

// Promises about operands go; what allows another rounding stays.

// CHECK-LABEL: func @flags
func.func @flags(%a: tensor<4xi32>, %b: tensor<4xi32>, %x: f32) -> (tensor<4xi32>, f32) {
  // CHECK: arith.addi %{{.*}}, %{{.*}} : tensor<4xi32>
  %0 = arith.addi %a, %b overflow<nsw, nuw> : tensor<4xi32>
  // CHECK: arith.shli %{{.*}}, %{{.*}} : tensor<4xi32>
  %1 = arith.shli %0, %b overflow<nsw> : tensor<4xi32>
  // CHECK: arith.divsi %{{.*}}, %{{.*}} : tensor<4xi32>
  %2 = arith.divsi %1, %b exact : tensor<4xi32>
  // CHECK: arith.shrui %{{.*}}, %{{.*}} : tensor<4xi32>
  %3 = arith.shrui %2, %b exact : tensor<4xi32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,nsz,arcp,contract,afn> : f32
  %4 = arith.addf %x, %x fastmath<fast> : f32
  // CHECK: math.sqrt %{{.*}} : f32
  %5 = math.sqrt %4 fastmath<nnan, ninf> : f32
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
  %6 = arith.mulf %5, %x fastmath<contract> : f32
  return %3, %6 : tensor<4xi32>, f32
}
