// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2]>
func.func @shard_c1(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{a user's sharding cannot be partial}}
  %0 = weft.shard %x to <@mesh, [{}], partial = sum {"dp"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @shard_c2(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{sharding: unknown axis 'tp'}}
  %0 = weft.shard %x to <@mesh, [{"tp"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @result_type(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "weft.shard"(%x) {sharding = #weft.sharding<@mesh, [{"dp"}]>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
