// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @optimization_barrier_c1() {
  // expected-error @+1 {{expected at least one input}}
  "weft.optimization_barrier"() : () -> ()
  return
}

// -----

func.func @types(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{failed to verify that results have the types of the inputs}}
  %0 = "weft.optimization_barrier"(%x) : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @optimization_barrier_c2(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{offloads 2 values, expected one}}
  %0:2 = weft.optimization_barrier %x, %x {offload} : tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8xf32>
}
