// RUN: %native %s --cpus x86-64-v3,native
// orders-cpus.test: the same on more processors.

// Lanes along rows, with a tail of 5 elements in each leaf; from an init that is
// no identity; and the same sum beside others.
#row = affine_map<(i, j) -> (i, j)>
#left = affine_map<(i, j) -> (i)>
#right = affine_map<(i, j) -> (j)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
func.func @rows(%x: tensor<7x340xf32> {weft.name = "x"}, %y: tensor<7x340xf32> {weft.name = "y"},
                %start: tensor<7xf32> {weft.name = "start"})
    -> (tensor<7xf32> {weft.name = "sum"}, tensor<7xf32> {weft.name = "from"}, tensor<7x340xf32> {weft.name = "scaled"},
        tensor<7xf32> {weft.name = "squares"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7xf32>
  %w = tensor.empty() : tensor<7x340xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<7xf32>) -> tensor<7xf32>
  %p = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<7x340xf32>, tensor<7x340xf32>) outs(%w : tensor<7x340xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<7x340xf32>
  %sum = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<7x340xf32>) outs(%z : tensor<7xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<7xf32>
  %from = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<7x340xf32>) outs(%start : tensor<7xf32>) attrs = {weft.order = #weft.order<leaves = 2, lanes = 8>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<7xf32>
  %scaled = linalg.generic {indexing_maps = [#row, #left, #row], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<7x340xf32>, tensor<7xf32>) outs(%w : tensor<7x340xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<7x340xf32>
  %squares = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%scaled : tensor<7x340xf32>) outs(%z : tensor<7xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<7xf32>
  return %sum, %from, %scaled, %squares : tensor<7xf32>, tensor<7xf32>, tensor<7x340xf32>, tensor<7xf32>
}
}

// -----

// By columns, with tiles and a tail; the same sum read along its other dim, with
// lanes beside each other; a sum over both; and a chain that is no plain sum.
#at = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(j, i) -> (i, j)>
#second = affine_map<(i, j) -> (j)>
#first = affine_map<(j, i) -> (j)>
#none = affine_map<(i, j) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
func.func @columns(%x: tensor<48x1100xf32> {weft.name = "x"}, %start: tensor<1100xf32> {weft.name = "start"})
    -> (tensor<1100xf32> {weft.name = "chains"}, tensor<1100xf32> {weft.name = "lanes"}, tensor<f32> {weft.name = "all"},
        tensor<1100xf32> {weft.name = "halved"}, tensor<48xf32> {weft.name = "rows"}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<1100xf32>
  %e48 = tensor.empty() : tensor<48xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1100xf32>) -> tensor<1100xf32>
  %z48 = linalg.fill ins(%zero : f32) outs(%e48 : tensor<48xf32>) -> tensor<48xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %chains = linalg.generic {indexing_maps = [#at, #second], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<48x1100xf32>) outs(%start : tensor<1100xf32>) attrs = {weft.order = #weft.order<leaves = 8>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<1100xf32>
  %lanes = linalg.generic {indexing_maps = [#turned, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<48x1100xf32>) outs(%z : tensor<1100xf32>) attrs = {weft.order = #weft.order<leaves = 2, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<1100xf32>
  %all = linalg.generic {indexing_maps = [#at, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<48x1100xf32>) outs(%z0 : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 6, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %halved = linalg.generic {indexing_maps = [#at, #second], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<48x1100xf32>) outs(%z : tensor<1100xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %s, %half : f32
    %1 = arith.addf %0, %a : f32
    linalg.yield %1 : f32
  } -> tensor<1100xf32>
  %rows = linalg.generic {indexing_maps = [#at, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<48x1100xf32>) outs(%z48 : tensor<48xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %s, %half : f32
    %1 = arith.addf %0, %a : f32
    linalg.yield %1 : f32
  } -> tensor<48xf32>
  return %chains, %lanes, %all, %halved, %rows : tensor<1100xf32>, tensor<1100xf32>, tensor<f32>, tensor<1100xf32>, tensor<48xf32>
}
}

// -----

// Updates are added one after the other, however threads share out the slices.
func.func @scatter(%t: tensor<10x3000xf32> {weft.name = "t"}, %i: tensor<60xi32> {weft.name = "i"},
                   %u: tensor<60x3000xf32> {weft.name = "u"}) -> (tensor<10x3000xf32> {weft.name = "s"}) {
  %s = weft.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<10x3000xf32>, tensor<60xi32>, tensor<60x3000xf32>
  return %s : tensor<10x3000xf32>
}
