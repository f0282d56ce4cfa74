// RUN: weft-opt %s --weft-start-collectives --verify-diagnostics

weft.mesh @mesh = <["dp"=2]>
func.func @no_channel(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft.all_reduce' op has no channel to be started on}}
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
