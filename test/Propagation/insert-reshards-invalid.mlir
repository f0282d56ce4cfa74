// RUN: weft-opt %s -split-input-file -verify-diagnostics --weft-insert-reshards --weft-verify-sharding

weft.mesh @mesh = <["dp"=2]>

// expected-error @below {{has 2 blocks, expected 1: sharding needs straight-line code}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @mixed(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'scf.execute_region' op mixes tensors and scalars among its results}}
  %0:2 = scf.execute_region -> (tensor<8xf32>, index) {
    %c = arith.constant 0 : index
    scf.yield %x, %c : tensor<8xf32>, index
  }
  return %0#0 : tensor<8xf32>
}
