#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @step(%w: tensor<64x64xf32> {weft.name = "w"}, %m: tensor<64x64xf32> {weft.name = "opt.m"}, %v: tensor<64x64xf32> {weft.name = "opt.v"}, %x: tensor<64x64xf32> {weft.name = "x"})
    -> (tensor<64x64xf32> {weft.alias = 0 : index, weft.name = "w"}, tensor<64x64xf32> {weft.alias = 1 : index, weft.name = "opt.m"}, tensor<64x64xf32> {weft.alias = 2 : index, weft.name = "opt.v"}) {
  %0 = weft.matmul %x, %w {indexing_maps = [#a, #b, #c]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = math.tanh %0 : tensor<64x64xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#a, #b, #c]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = math.tanh %2 : tensor<64x64xf32>
  %4 = weft.matmul %3, %1 {indexing_maps = [#a, #b, #c]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %5 = arith.addf %m, %4 : tensor<64x64xf32>
  %6 = arith.mulf %4, %4 : tensor<64x64xf32>
  %7 = arith.addf %v, %6 : tensor<64x64xf32>
  %8 = arith.mulf %5, %7 : tensor<64x64xf32>
  %9 = arith.addf %w, %8 : tensor<64x64xf32>
  return %9, %5, %7 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
