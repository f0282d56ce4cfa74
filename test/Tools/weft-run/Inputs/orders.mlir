weft.mesh @mesh = <["tp"=4]>
func.func @step(
    %a: tensor<16x1024xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %b: tensor<1024x32xf32> {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<16x32xf32> {weft.name = "product"}, tensor<16xf32> {weft.name = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %product_room = tensor.empty() : tensor<16x32xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_room : tensor<16x32xf32>) -> tensor<16x32xf32>
  %product = linalg.matmul ins(%a, %b : tensor<16x1024xf32>, tensor<1024x32xf32>)
                           outs(%product_init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %sum_room = tensor.empty() : tensor<16xf32>
  %sum_init = linalg.fill ins(%zero : f32) outs(%sum_room : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce ins(%a : tensor<16x1024xf32>) outs(%sum_init : tensor<16xf32>) dimensions = [1]
    (%x: f32, %y: f32) {
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  return %product, %sum : tensor<16x32xf32>, tensor<16xf32>
}
