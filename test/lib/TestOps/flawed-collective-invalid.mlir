// RUN: weft-test-opt %s --split-input-file --verify-diagnostics

// The verifier of CollectiveOpInterface.

weft.mesh @mesh = <["dp"=2]>
func.func @collective_good(%x: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = weft_test.flawed_collective "all_reduce" %x on @mesh <{"dp"}> {reduces} : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = weft_test.flawed_collective "all_gather" %0 on @mesh <{"dp"}> {gathered_dims = array<i64: 0>} : tensor<4x8xf32> -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @collective_interface_c1(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{is of kind all_reduce, but says not how it combines}}
  %0 = weft_test.flawed_collective "all_reduce" %x on @mesh <{"dp"}> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @collective_interface_c1_moves(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{is of kind permute, but says how it combines}}
  %0 = weft_test.flawed_collective "permute" %x on @mesh <{"dp"}> {reduces} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @collective_interface_c2(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{is of kind all_reduce, which moves nothing along the dims that it has}}
  %0 = weft_test.flawed_collective "all_reduce" %x on @mesh <{"dp"}> {reduces, gathered_dims = array<i64: 0>} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @collective_interface_c2_scatter(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{is of kind all_gather, which moves nothing along the dims that it has}}
  %0 = weft_test.flawed_collective "all_gather" %x on @mesh <{"dp"}> {gathered_dims = array<i64: 0>, scattered_dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
