// RUN: weft-opt %s --cse --canonicalize | FileCheck %s

// A weight is gathered for the forward pass and again for the backward pass:
// general rewrites keep both, and those whose results are unused.

weft.mesh @mesh = <["fsdp"=2]>

// CHECK-LABEL: func @gathers
// CHECK-COUNT-3: weft.all_gather
func.func @gathers(%w: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %1 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %2 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
