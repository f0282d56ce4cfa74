// RUN: weft-opt %s --weft-merge-equal-ops --split-input-file | FileCheck %s

// Bodies in which something is computed twice, or for nothing, are equal if they are so before that is removed.
// CHECK-LABEL: func @inside(
// CHECK: linalg.generic
// CHECK-NOT: weft.body_hash
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y:.*]], %[[Y]] :
#id = affine_map<(d0) -> (d0)>
func.func @inside(%x: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.tanh %in : f32
    %b = math.tanh %in : f32
    %dead = math.exp %in : f32
    %c = arith.mulf %a, %b : f32
    %y = arith.addf %c, %in : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.tanh %in : f32
    %b = math.tanh %in : f32
    %dead = math.exp %in : f32
    %c = arith.mulf %a, %b : f32
    %y = arith.addf %c, %in : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Values from outside that become one; what reads different ones stays.
// CHECK-LABEL: func @outside(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y:.*]], %[[Y]], %{{.*}} :
#id = affine_map<(d0) -> (d0)>
func.func @outside(%x: tensor<4xf32>, %e: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %n0 = arith.negf %s : f32
  %n1 = arith.negf %s : f32
  %c0 = arith.constant 2.0 : f32
  %c1 = arith.constant 2.0 : f32
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %n0 : f32
    %b = arith.addf %a, %c0 : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %n1 : f32
    %b = arith.addf %a, %c1 : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %s : f32
    %b = arith.addf %a, %c1 : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
