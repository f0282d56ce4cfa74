// One step of gradient descent for a linear model: the batch is cut over two
// ranks, and the gradient summed over them. The weights are donated: the step's
// result takes their place.
weft.mesh @mesh = <["dp"=2]>

func.func @step(
    %w: tensor<4x1xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %x: tensor<8x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<8x1xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<4x1xf32> {weft.name = "w", weft.alias = 0 : index}) {
  %zero = arith.constant 0.0 : f32
  // error = x * w - y
  %0 = tensor.empty() : tensor<8x1xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x1xf32>) -> tensor<8x1xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x1xf32>) outs(%1 : tensor<8x1xf32>) -> tensor<8x1xf32>
  %error = arith.subf %2, %y : tensor<8x1xf32>
  // loss = the sum of error^2
  %3 = arith.mulf %error, %error : tensor<8x1xf32>
  %4 = tensor.empty() : tensor<f32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%3 : tensor<8x1xf32>) outs(%5 : tensor<f32>) dimensions = [0, 1]
  // w -= 1/16 * transpose(x) * error
  %6 = tensor.empty() : tensor<4x8xf32>
  %xt = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%6 : tensor<4x8xf32>) permutation = [1, 0]
  %7 = tensor.empty() : tensor<4x1xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %gradient = linalg.matmul ins(%xt, %error : tensor<4x8xf32>, tensor<8x1xf32>) outs(%8 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %rate = arith.constant dense<0.0625> : tensor<4x1xf32>
  %9 = arith.mulf %rate, %gradient : tensor<4x1xf32>
  %10 = arith.subf %w, %9 : tensor<4x1xf32>
  return %loss, %10 : tensor<f32>, tensor<4x1xf32>
}
