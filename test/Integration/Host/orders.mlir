// RUN: %native %s --cpus x86-64,x86-64-v3,x86-64-v4,native

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
