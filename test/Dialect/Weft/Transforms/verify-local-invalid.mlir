// RUN: weft-opt %s -split-input-file -verify-diagnostics -weft-verify-local

weft.mesh @mesh = <["tp"=2]>
func.func @reshard(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is not allowed in phase 'local'}}
  %0 = weft.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @shard(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is not allowed in phase 'local'}}
  %0 = weft.shard %x to <@mesh, [{"tp"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @shardings() -> tensor<4xf32> {
  // expected-error @+1 {{has 'weft.shardings', which is not allowed in phase 'local'}}
  %0 = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dynamic(%n: index) {
  // expected-error @+1 {{makes a value of type 'tensor<?xf32>', but local types are static}}
  %0 = tensor.empty(%n) : tensor<?xf32>
  return
}

// -----

// expected-error @+1 {{argument #0 has type 'tensor<?xf32>', but local types are static}}
func.func @dynamic_arg(%x: tensor<?xf32>) {
  return
}

// -----

weft.mesh @mesh = <["tp"=2]>
// expected-error @+1 {{argument #0 has a sharding, but no 'weft.global_type': its type is not local}}
func.func @global_arg(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  return
}

// -----

weft.mesh @mesh = <["tp"=2]>
// expected-error @+1 {{result #0 has a sharding, but no 'weft.global_type': its type is not local}}
func.func @global_result(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  return %x : tensor<4xf32>
}
