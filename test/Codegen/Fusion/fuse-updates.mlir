// RUN: weft-opt %s -split-input-file -weft-fuse-kernels | FileCheck %s

// Each insertion overwrites zeros of its own: nothing is copied.

// CHECK-LABEL: func.func @insert_twice
// CHECK: %[[A:.*]] = weft_rt.fused ins() -> tensor<8xf32>
// CHECK: tensor.insert_slice %arg0 into %[[A]]
// CHECK: %[[B:.*]] = weft_rt.fused ins() -> tensor<8xf32>
// CHECK: tensor.insert_slice %arg1 into %[[B]]
module attributes {weft.target = #weft.target<"host">} {
  func.func @insert_twice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %0 = tensor.insert_slice %x into %zero[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
    %1 = tensor.insert_slice %y into %zero[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A scalar is an operand like any other, so that the next one may lie there.

// CHECK-LABEL: func.func @count
// CHECK: weft_rt.fused
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<i32>)
module attributes {weft.target = #weft.target<"host">} {
  func.func @count(%t: tensor<i32>) -> tensor<i32> {
    %e = tensor.empty() : tensor<i32>
    %0 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%t : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %c1 = arith.constant 1 : i32
      %s = arith.addi %in, %c1 : i32
      linalg.yield %s : i32
    } -> tensor<i32>
    return %0 : tensor<i32>
  }
}
