// A linear layer with its batch over dp and its weight stored over dp.
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @step(%w: tensor<8x16xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                %x: tensor<4x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x16xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<8x16xf32> {weft.name = "w", weft.alias = 0 : index}) {
  %zero = arith.constant dense<0.0> : tensor<4x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%zero : tensor<4x16xf32>) -> tensor<4x16xf32>
  %v = arith.addf %w, %w : tensor<8x16xf32>
  return %y, %v : tensor<4x16xf32>, tensor<8x16xf32>
}
