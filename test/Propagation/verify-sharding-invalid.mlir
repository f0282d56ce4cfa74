// RUN: weft-opt %s -split-input-file -verify-diagnostics -weft-verify-sharding

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @shard_is_left(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{is left: a user's sharding has to be a reshard by now}}
  %0 = weft.shard %x to <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @reshard_from(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{is from [{"dp"}], but its operand is [{}]}}
  %0 = weft.reshard %x from <@mesh, [{"dp"}]> to <@mesh, [{}]>
       {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @reshard_to(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{is to [{}], but its result is [{"tp"}]}}
  %0 = weft.reshard %x from <@mesh, [{"dp"}]> to <@mesh, [{}]>
       {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @return_differs(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{operand #0 is [{"dp"}], but the function declares [{}]}}
  return %x : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @rule_broken(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  // expected-error @below {{shardings do not agree with the op's rule:}}
  %0 = weft.matmul %x, %w {indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
         affine_map<(m, n, k) -> (m, n)>],
         weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
       : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @not_linear(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = weft.matmul %x, %w {indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
         affine_map<(m, n, k) -> (m, n)>],
         weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]}
       : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %e = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<8x32xf32>
  // expected-error @below {{is not linear in its operand that is [{}, {}], partial = sum {"tp"}}}
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
       ins(%0 : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>)
       attrs = {weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]} {
    ^bb0(%a: f32, %b: f32):
      %c = math.exp %a : f32
      linalg.yield %c : f32
  } -> tensor<8x32xf32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @below {{has 2 blocks, expected 1: sharding needs straight-line code}}
func.func @blocks() {
  cf.br ^next
^next:
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @barrier(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
    %y: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{operand #1 is [{"tp"}], but result #1 is [{}]: expected one whole value}}
  %0:2 = weft.optimization_barrier %x, %y
         {weft.shardings = [#weft.sharding<@mesh, [{"dp"}]>, #weft.sharding<@mesh, [{}]>]} : tensor<8xf32>, tensor<8xf32>
  return %0#1 : tensor<8xf32>
}
