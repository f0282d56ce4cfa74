#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn], weft.order = #weft.order<leaves = 4>} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn], weft.order = #weft.order<leaves = 2>} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
