// A step of which one op is looked for: the tanh of a tensor.
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

func.func @unused(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = math.sqrt %x : tensor<4x8xf32>
  %1 = arith.addf %0, %x : tensor<4x8xf32>
  %2 = math.tanh %1 : tensor<4x8xf32>
  %3 = weft.matmul %2, %w {indexing_maps = [#x, #w, #y]}
      : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}
