func.func @step(%x: tensor<64x64xf32> {weft.name = "x"}, %m: tensor<64x64xf32> {weft.name = "opt.m"})
    -> (tensor<64x64xf32> {weft.alias = 1 : index, weft.name = "opt.m"}) {
  %h = math.tanh %x : tensor<64x64xf32>
  %saved = weft.optimization_barrier %h {offload} : tensor<64x64xf32>
  %0 = weft.matmul %h, %x {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1:2 = weft.optimization_barrier %saved, %0 : tensor<64x64xf32>, tensor<64x64xf32>
  %2 = weft.matmul %1#1, %1#0 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = arith.addf %m, %2 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
