// RUN: %native %s --values integers

// Sums long enough for vectors and threads, along each dim, exact in f32.
func.func @long_sums(%x: tensor<257x300xf32> {weft.name = "x"}, %i: tensor<257x300xi32> {weft.name = "i"}, %v: tensor<4099xf32> {weft.name = "v"})
    -> (tensor<257xf32> {weft.name = "inner"}, tensor<300xf32> {weft.name = "outer"}, tensor<f32> {weft.name = "all"},
        tensor<300xi32> {weft.name = "integers"}, tensor<257xf32> {weft.name = "most"}, tensor<257x300xf32> {weft.name = "shifted"}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<257xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<257xf32>) -> tensor<257xf32>
  %inner = linalg.reduce { arith.addf } ins(%x : tensor<257x300xf32>) outs(%z0 : tensor<257xf32>) dimensions = [1]
  %e1 = tensor.empty() : tensor<300xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<300xf32>) -> tensor<300xf32>
  %outer = linalg.reduce { arith.addf } ins(%x : tensor<257x300xf32>) outs(%z1 : tensor<300xf32>) dimensions = [0]
  %e2 = tensor.empty() : tensor<f32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %all = linalg.reduce { arith.addf } ins(%v : tensor<4099xf32>) outs(%z2 : tensor<f32>) dimensions = [0]
  %e4 = tensor.empty() : tensor<300xi32>
  %z4 = linalg.fill ins(%none : i32) outs(%e4 : tensor<300xi32>) -> tensor<300xi32>
  %integers = linalg.reduce { arith.addi } ins(%i : tensor<257x300xi32>) outs(%z4 : tensor<300xi32>) dimensions = [0]
  %l0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<257xf32>) -> tensor<257xf32>
  %most = linalg.reduce { arith.maximumf } ins(%x : tensor<257x300xf32>) outs(%l0 : tensor<257xf32>) dimensions = [1]
  %w = tensor.empty() : tensor<257x300xf32>
  %wide = linalg.broadcast ins(%outer : tensor<300xf32>) outs(%w : tensor<257x300xf32>) dimensions = [0]
  %shifted = arith.subf %x, %wide : tensor<257x300xf32>
  return %inner, %outer, %all, %integers, %most, %shifted
      : tensor<257xf32>, tensor<300xf32>, tensor<f32>, tensor<300xi32>, tensor<257xf32>, tensor<257x300xf32>
}
