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

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @members(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has the order #weft.order<leaves = 4>, but joins what 8 members have}}
  %0 = weft.all_reduce sum %x on @mesh <{"dp", "tp"}> {weft.order = #weft.order<leaves = 4>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @members_of_scatter(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has the order #weft.order<leaves = 2, lanes = 2>, but joins what 2 members have}}
  %0 = weft.reduce_scatter sum %x on @mesh <{"dp"}> dims [0] {weft.order = #weft.order<leaves = 2, lanes = 2>} : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @leaves(%x: tensor<4x12xf32>, %w: tensor<12x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has an order of 8 leaves, which do not divide the 12 elements that it sums}}
  %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @lanes(%x: tensor<3x32xf32>, %zero: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{has the order #weft.order<leaves = 2, lanes = 16>, but its leaves are no runs along the last loop}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
         iterator_types = ["reduction", "reduction"]} ins(%x : tensor<3x32xf32>) outs(%zero : tensor<f32>)
         attrs = {weft.order = #weft.order<leaves = 2, lanes = 16>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @rounded(%x: tensor<32xf32>, %zero: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{has the order #weft.order<leaves = 2, rounded = true>, but only weft.matmul rounds each leaf}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%x : tensor<32xf32>) outs(%zero : tensor<f32>)
         attrs = {weft.order = #weft.order<leaves = 2, rounded = true>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @no_reduction() -> tensor<4xf32> {
  // expected-error @+1 {{has the order #weft.order<leaves = 2>, but reduces nothing}}
  %0 = tensor.empty() {weft.order = #weft.order<leaves = 2>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Axes of size 1 cut nothing, but a result in the place of an argument is one tensor with it.

weft.mesh @mesh = <["dp"=1, "tp"=2]>
// expected-error @+1 {{result #0 is sharded as #weft.sharding<@mesh, [{"tp", "dp"}]>, but argument #0, which is donated to it, as #weft.sharding<@mesh, [{"tp"}]>}}
func.func @donated(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<4xf32> {weft.alias = 0 : index, weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "dp"}]>}) {
  return %x : tensor<4xf32>
}
