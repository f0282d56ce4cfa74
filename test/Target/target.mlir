// RUN: weft-opt %s --weft-prepare-kernels | FileCheck %s

// The module's target is asked, and stays.

// CHECK: module attributes {weft.target = #weft.target<"host", {cpu = "x86-64-v3"}>}
module attributes {weft.target = #weft.target<"host", {cpu = "x86-64-v3"}>} {
  // CHECK: func.func @f
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
