// RUN: weft-opt %s -split-input-file -verify-diagnostics

// One check for all that sum: whichever tool reads it.

func.func @product(%x: tensor<4x12xf32>, %w: tensor<12x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'weft.matmul' op has an order of 8 leaves, which do not divide the 12 elements that it sums}}
  %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Of two groups of eight queries, keys and values sum sixteen elements.

#q = affine_map<(h, g, i, j, d, e) -> (h, g, i, d)>
#k = affine_map<(h, g, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, g, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, g, i, j, d, e) -> (h, g, i, e)>
#lse = affine_map<(h, g, i, j, d, e) -> (h, g, i)>
func.func @gradient(%q: tensor<3x2x8x4xf32>, %k: tensor<3x5x4xf32>, %out: tensor<3x2x8x4xf32>, %lse: tensor<3x2x8xf32>)
    -> (tensor<3x2x8x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>) {
  // expected-error @+1 {{'weft.attention_grad' op has an order of 3 leaves, which do not divide the 16 elements that it sums}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %out {weft.order = #weft.order<leaves = 3>,
      config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
      : (tensor<3x2x8x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x2x8x4xf32>, tensor<3x2x8xf32>, tensor<3x2x8x4xf32>)
      -> (tensor<3x2x8x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>)
  return %dq, %dk, %dv : tensor<3x2x8x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>
}
