// RUN: %native %s --values special --ulps 8

// NaN wins a maximum, rows of -inf give NaN in a softmax, and infinities of
// both signs a sum of NaN.
func.func @special_rows(%x: tensor<21x21xf32> {weft.name = "x"})
    -> (tensor<21xf32> {weft.name = "max"}, tensor<21xf32> {weft.name = "min"}, tensor<21xf32> {weft.name = "sum"},
        tensor<21x21xf32> {weft.name = "softmax"}, tensor<21xf32> {weft.name = "columns"}, tensor<f32> {weft.name = "all"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %high = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<21xf32>
  %w = tensor.empty() : tensor<21x21xf32>
  %l = linalg.fill ins(%low : f32) outs(%e : tensor<21xf32>) -> tensor<21xf32>
  %h = linalg.fill ins(%high : f32) outs(%e : tensor<21xf32>) -> tensor<21xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<21xf32>) -> tensor<21xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<21x21xf32>) outs(%l : tensor<21xf32>) dimensions = [1]
  %min = linalg.reduce { arith.minimumf } ins(%x : tensor<21x21xf32>) outs(%h : tensor<21xf32>) dimensions = [0]
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<21x21xf32>) outs(%z : tensor<21xf32>) dimensions = [1]
  %m = linalg.broadcast ins(%max : tensor<21xf32>) outs(%w : tensor<21x21xf32>) dimensions = [1]
  %d = arith.subf %x, %m : tensor<21x21xf32>
  %exp = math.exp %d : tensor<21x21xf32>
  %total = linalg.reduce { arith.addf } ins(%exp : tensor<21x21xf32>) outs(%z : tensor<21xf32>) dimensions = [1]
  %t = linalg.broadcast ins(%total : tensor<21xf32>) outs(%w : tensor<21x21xf32>) dimensions = [1]
  %softmax = arith.divf %exp, %t : tensor<21x21xf32>
  %columns = linalg.reduce { arith.maximumf } ins(%x : tensor<21x21xf32>) outs(%l : tensor<21xf32>) dimensions = [0]
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %all = linalg.reduce { arith.maximumf } ins(%x : tensor<21x21xf32>) outs(%z0 : tensor<f32>) dimensions = [0, 1]
  return %max, %min, %sum, %softmax, %columns, %all
      : tensor<21xf32>, tensor<21xf32>, tensor<21xf32>, tensor<21x21xf32>, tensor<21xf32>, tensor<f32>
}
