// RUN: weft-opt %s -split-input-file -verify-diagnostics --weft-verify-sharding

#id = affine_map<(m) -> (m)>
weft.mesh @mesh = <["dp"=2]>

func.func @no_sharding(%x: tensor<8xf32>) {
  // expected-error @below {{'linalg.generic' op operand #0 of type 'tensor<8xf32>' has no sharding}}
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return
}

// -----

#id = affine_map<(m) -> (m)>
weft.mesh @mesh = <["dp"=2]>

func.func @inconsistent(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
    %y: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{shardings do not agree with the op's rule: operand #0 is [{"dp"}], operand #1 is [{}], result #0 is [{"dp"}]}}
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{"dp"}]>]} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return
}

// -----

#id = affine_map<(m, k) -> (m, k)>
#m = affine_map<(m, k) -> (m)>
weft.mesh @mesh = <["dp"=2]>

func.func @nonlinear(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>}) {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{}]>]} dense<0.0> : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}], partial = sum {"dp"}>]} {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  // expected-error @below {{is not linear in its operand that is [{}], partial = sum {"dp"}}}
  %e = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%n : tensor<8xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}]>]} {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return
}

// -----

#id = affine_map<(m, k) -> (m, k)>
#m = affine_map<(m, k) -> (m)>
weft.mesh @mesh = <["dp"=2]>

func.func @lost_partial(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>}) {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{}]>]} dense<0.0> : tensor<8xf32>
  // expected-error @below {{result #0 is [{}], expected [{}], partial = sum {"dp"}}}
  %n = linalg.generic {indexing_maps = [#id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}]>]} {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return
}

// -----

#id = affine_map<(m, k) -> (m, k)>
#m = affine_map<(m, k) -> (m)>
#v = affine_map<(m) -> (m)>
weft.mesh @mesh = <["dp"=2, "tp"=2]>

func.func @two_partials(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>},
    %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{}]>]} dense<0.0> : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}], partial = sum {"dp"}>]} {
  ^bb0(%i: f32, %o: f32):
    %t = arith.addf %i, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}], partial = sum {"tp"}>]} {
  ^bb0(%i: f32, %o: f32):
    %t = arith.addf %i, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  // expected-error @below {{operand #1 is [{}], partial = sum {"tp"}, but another operand is [{}], partial = sum {"dp"}}}
  %c = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{}], partial = sum {"dp"}>]} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.addf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @unknown(
    %x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
    %s: tensor<2xi32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{has no sharding rule, so its tensors must be replicated, got [{"dp"}]}}
  %c = tensor.reshape %x(%s) {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @reshard_from(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{'weft.reshard' op is from [{}], but its operand is [{"dp"}]}}
  %r = weft.reshard %x from <@mesh, [{}]> to <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @reshard_to(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{'weft.reshard' op is to [{}], but its result is [{"dp"}]}}
  %r = weft.reshard %x from <@mesh, [{"dp"}]> to <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{"dp"}]>]} : tensor<8xf32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @return_mismatch(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{operand #0 is [{"dp"}], but the function declares [{}]}}
  return %x : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>

// expected-error @below {{result #0 has no sharding}}
func.func @return_undeclared(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>

func.func @shard_left(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{'weft.shard' op is left: a user's sharding has to be a reshard by now}}
  %s = weft.shard %x to <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

#id = affine_map<(m) -> (m)>
weft.mesh @mesh = <["dp"=2]>

func.func @capture(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %e = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<8xf32>
  // expected-error @below {{body uses a tensor that is [{"dp"}], expected a replicated one}}
  %n = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
      outs(%e : tensor<8xf32>) attrs = {weft.shardings = [#weft.sharding<@mesh, [{}]>]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %t = tensor.extract %x[%i] : tensor<8xf32>
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return
}
