// RUN: weft-opt %s -split-input-file -verify-diagnostics -weft-partition -weft-verify-local

weft.mesh @mesh = <["tp"=2]>
func.func @not_explicit(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has no 'weft.shardings': the module is not explicit}}
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @return_differs(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<4xf32> {
  // expected-error @+1 {{operand #0 is sharded as [{"tp"}], but the function's result as [{}]}}
  return %x : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
// expected-error @+1 {{result #0 is sharded as [{}], but takes the place of argument #0 that is sharded as [{"tp"}]}}
func.func @alias_differs(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<4xf32> {weft.alias = 0 : index}) {
  %0 = weft.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @reshard_differs(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{reads a value that is sharded as [{}], not as [{"tp"}]}}
  %0 = weft.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @reshard_type(%x: tensor<4xcomplex<f32>> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<4xcomplex<f32>> {
  // expected-error @+1 {{cannot move elements of type 'complex<f32>'}}
  %0 = weft.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @inconsistent(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  // expected-error @+1 {{has operands sharded as [{}], [{}] and results sharded as [{"tp"}], which no sharding of its iteration space gives}}
  %0 = arith.addf %x, %x {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @unknown(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %i: index) -> f32 {
  // expected-error @+1 {{uses a tensor that is sharded as [{"tp"}], but can use whole ones only}}
  %0 = tensor.extract %x[%i] : tensor<4xf32>
  return %0 : f32
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @unknown_result(%v: f32) -> (tensor<2xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  // expected-error @+1 {{makes a tensor that is sharded as [{"tp"}], but can use whole ones only}}
  %0 = tensor.from_elements %v, %v {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @captured(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %i: tensor<2xindex>) -> tensor<2xf32> {
  %e = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<2xf32>
  // expected-error @+1 {{captures a tensor that is sharded as [{"tp"}], but can use whole ones only}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<2xindex>) outs(%e : tensor<2xf32>) attrs = {weft.shardings = [#weft.sharding<@mesh, [{}]>]} {
  ^bb0(%at: index, %out: f32):
    %v = tensor.extract %x[%at] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
// expected-error @+1 {{has 2 blocks, expected one: only straight-line code is partitioned}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["tp"=3]>
func.func @named(%a: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // expected-error @+1 {{is sharded in a way that changes its body; raise it to linalg.generic first}}
  %0 = linalg.dot {weft.shardings = [#weft.sharding<@mesh, [], partial = sum {"tp"}>]}
      ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  %1 = weft.reshard %0 from <@mesh, [], partial = sum {"tp"}> to <@mesh, []> : tensor<f32>
  return %1 : tensor<f32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @base(%t: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %i: tensor<2xi32>, %b: index) -> tensor<2xf32> {
  // expected-error @+1 {{has a base, but its table is the global one}}
  %0 = weft.take %t, %i base %b {axis = 0 : i64, table_map = affine_map<(d) -> ()>, index_map = affine_map<(d) -> (d)>,
      weft.shardings = [#weft.sharding<@mesh, [{}], partial = sum {"tp"}>]} : tensor<4xf32>, tensor<2xi32> -> tensor<2xf32>
  %1 = weft.reshard %0 from <@mesh, [{}], partial = sum {"tp"}> to <@mesh, [{}]> : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @pad_by_index(%x: tensor<4x4xindex> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x5xindex> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @+1 {{pads by index along dim 0, which is sharded}}
  %0 = tensor.pad %x low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %i : index
  } {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<4x4xindex> to tensor<4x5xindex>
  return %0 : tensor<4x5xindex>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
weft.mesh @mesh = <["cp"=2]>
func.func @start(%q: tensor<2x8x4xf32>, %s: index) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has a start, but its queries are the global ones}}
  %out, %lse = weft.attention %q, %q, %q start %s {config = #weft.attention<scale = 0.5 : f32, right = 0>,
      indexing_maps = [#q, #k, #v, #out, #lse], weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}]>, #weft.sharding<@mesh, [{}, {}]>]}
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, index) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

weft.mesh @mesh = <["tp"=2]>
func.func @scales(%x: tensor<8x64xf8E4M3FN> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}, %w: tensor<64x16xf8E4M3FN> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}, %s: tensor<f32> {weft.sharding = #weft.sharding<@mesh, []>}) -> (tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  // expected-error @+1 {{has scales, which weft-lower-quantization writes out before shardings are known}}
  %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
      affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>], weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
      : tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
