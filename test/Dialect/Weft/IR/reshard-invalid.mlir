// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reshard_c1_axis(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{makes axis 'tp' partial, which it is not before}}
  %0 = weft.reshard %x from <@mesh, [{}]> to <@mesh, [{}], partial = sum {"tp"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reshard_c1_kind(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{changes the partial kind from sum to max}}
  %0 = weft.reshard %x from <@mesh, [{}], partial = sum {"tp"}> to <@mesh, [{}], partial = max {"tp"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reshard_c2_from(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{from: unknown axis 'ep'}}
  %0 = weft.reshard %x from <@mesh, [{"ep"}]> to <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reshard_c2_to(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{to: sharding has 2 dimensions, but the value has 1}}
  %0 = weft.reshard %x from <@mesh, [{}]> to <@mesh, [{}, {}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
