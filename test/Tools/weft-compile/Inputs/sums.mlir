// A contraction over a dimension that tp may cut, and a loss.
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @step(%x: tensor<4x1024xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                %w: tensor<1024x16xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x16xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, tensor<f32> {weft.name = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<4x16xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<4x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x1024xf32>, tensor<1024x16xf32>) outs(%zero : tensor<4x16xf32>) -> tensor<4x16xf32>
  %z = arith.mulf %y, %two : tensor<4x16xf32>
  %loss = linalg.reduce ins(%z : tensor<4x16xf32>) outs(%none : tensor<f32>) dimensions = [0, 1]
    (%a: f32, %o: f32) {
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    }
  return %y, %loss : tensor<4x16xf32>, tensor<f32>
}
