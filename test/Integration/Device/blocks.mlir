// RUN: %native %s --values integers --device

// Largest magnitudes of blocks by rows and by columns, and the tensor times
// both: one kernel, whose loops are those of the blocks of both.

#all = affine_map<(i, j, k) -> (i, j, k)>
#rows = affine_map<(i, j, k) -> (i, j)>
#columns = affine_map<(i, j, k) -> (i, k)>

func.func @both(%x: tensor<64x128xf32> {weft.name = "x"})
    -> (tensor<64x8x16xf32> {weft.name = "r"}, tensor<8x8x128xf32> {weft.name = "c"}, tensor<64x8xf32> {weft.name = "of_rows"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<64x8xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x8xf32>) -> tensor<64x8xf32>
  %e1 = tensor.empty() : tensor<8x128xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x128xf32>) -> tensor<8x128xf32>
  %by_rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [64, 8, 16] : tensor<64x128xf32> into tensor<64x8x16xf32>
  %by_columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [8, 8, 128] : tensor<64x128xf32> into tensor<8x8x128xf32>
  %r = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%by_rows : tensor<64x8x16xf32>) outs(%i0 : tensor<64x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<64x8xf32>
  %c = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["parallel", "reduction", "parallel"]} ins(%by_columns : tensor<8x8x128xf32>) outs(%i1 : tensor<8x128xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<8x128xf32>
  %e2 = tensor.empty() : tensor<64x8x16xf32>
  %y = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%by_rows, %r : tensor<64x8x16xf32>, tensor<64x8xf32>) outs(%e2 : tensor<64x8x16xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %p = arith.mulf %v, %s : f32
    linalg.yield %p : f32
  } -> tensor<64x8x16xf32>
  %e3 = tensor.empty() : tensor<8x8x128xf32>
  %z = linalg.generic {indexing_maps = [#all, #columns, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%by_columns, %c : tensor<8x8x128xf32>, tensor<8x128xf32>) outs(%e3 : tensor<8x8x128xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %p = arith.addf %v, %s : f32
    linalg.yield %p : f32
  } -> tensor<8x8x128xf32>
  return %y, %z, %r : tensor<64x8x16xf32>, tensor<8x8x128xf32>, tensor<64x8xf32>
}
