// RUN: %native %s --values special --device --ulps 3
// RUN: %native %s --device --ulps 3

// Exponentials by powers of 2: infinities, NaN, denormals and large numbers, too.

#id = affine_map<(i) -> (i)>

func.func @exp(%x: tensor<4096xf32> {weft.name = "x"}) -> (tensor<4096xf32> {weft.name = "y"}, tensor<4096xf32> {weft.name = "z"}) {
  %fifty = arith.constant 50.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %y:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4096xf32>) outs(%e, %e : tensor<4096xf32>, tensor<4096xf32>) {
  ^bb0(%v: f32, %o: f32, %p: f32):
    %r = math.exp %v : f32
    %w = arith.mulf %v, %fifty : f32
    %s = math.exp %w : f32
    linalg.yield %r, %s : f32, f32
  } -> (tensor<4096xf32>, tensor<4096xf32>)
  return %y#0, %y#1 : tensor<4096xf32>, tensor<4096xf32>
}
