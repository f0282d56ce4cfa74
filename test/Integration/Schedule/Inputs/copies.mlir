// A step of which some orders copy results: an argument whose place a result takes is read late.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#mn = affine_map<(m, n, k) -> (m, n)>
weft.mesh @mesh = <["a"=2, "b"=4]>
func.func @step(%w0: tensor<64x64xf32> {weft.name = "w0"}, %w1: tensor<32x32xf32> {weft.name = "w1"}, %w2: tensor<16x64xf32> {weft.name = "w2"}, %w3: tensor<128x16xf32> {weft.name = "w3"}, %w4: tensor<32x32xf32> {weft.name = "w4"}, %w5: tensor<64x16xf32> {weft.name = "w5"}, %w6: tensor<32x64xf32> {weft.name = "w6"}) -> (tensor<32x32xf32> {weft.alias = 1 : index, weft.name = "w1"}, tensor<128x32xf32>, tensor<16x16xf32>, tensor<64x64xf32> {weft.alias = 0 : index, weft.name = "w0"}, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %v0 = weft.all_reduce sum %w0 on @mesh <{"a"}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %v1 = weft.all_to_all %w3 on @mesh <{"a"}> split [0] concat [1] : (tensor<128x16xf32>) -> tensor<64x32xf32>
  %v2 = weft.matmul %w1, %w1 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %v3 = weft.all_reduce sum %v2 on @mesh <{"a"}> : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %v4 = weft.matmul %v0, %v0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %v5 = weft.all_reduce sum %w1 on @mesh <{"a"}> : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %v6 = weft.matmul %v2, %w4 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %v7 = weft.matmul %v2, %v5 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %v8 = weft.matmul %w2, %w0 {indexing_maps = [#mk, #kn, #mn]} : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
  %v9 = weft.matmul %v5, %v2 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %v10 = weft.all_gather %v9 on @mesh <{"b"}> dims [0] : (tensor<32x32xf32>) -> tensor<128x32xf32>
  %v11 = weft.reduce_scatter sum %w0 on @mesh <{"a"}> dims [0] : (tensor<64x64xf32>) -> tensor<32x64xf32>
  %v12 = weft.matmul %v11, %v0 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x64xf32>, tensor<64x64xf32> -> tensor<32x64xf32>
  %v13 = weft.matmul %v8, %w0 {indexing_maps = [#mk, #kn, #mn]} : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
  %v14 = weft.matmul %v13, %w5 {indexing_maps = [#mk, #kn, #mn]} : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
  %v15 = weft.matmul %w1, %v3 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %v16 = weft.all_reduce sum %v4 on @mesh <{"a"}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %v17 = weft.all_to_all %w3 on @mesh <{"a"}> split [0] concat [1] : (tensor<128x16xf32>) -> tensor<64x32xf32>
  %v18 = weft.matmul %v1, %v1 {indexing_maps = [#km, #kn, #mn]} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  %v19 = weft.all_reduce sum %w1 on @mesh <{"a"}> : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %v20 = weft.matmul %v6, %w6 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x64xf32> -> tensor<32x64xf32>
  %v21 = weft.matmul %v9, %v12 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x64xf32> -> tensor<32x64xf32>
  %v22 = weft.matmul %v17, %v15 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
  %v23 = weft.matmul %w0, %v22 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  %v24 = weft.matmul %v4, %w5 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  %v25 = arith.addf %v2, %w1 : tensor<32x32xf32>
  %v26 = weft.matmul %w1, %w6 {indexing_maps = [#mk, #kn, #mn]} : tensor<32x32xf32>, tensor<32x64xf32> -> tensor<32x64xf32>
  %v27 = weft.matmul %v24, %w2 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x16xf32>, tensor<16x64xf32> -> tensor<64x64xf32>
  %v28 = weft.matmul %v20, %v20 {indexing_maps = [#km, #kn, #mn]} : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
  return %v7, %v10, %v14, %v16, %v18, %v19, %v21, %v23, %v25, %v26, %v27, %v28 : tensor<32x32xf32>, tensor<128x32xf32>, tensor<16x16xf32>, tensor<64x64xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
