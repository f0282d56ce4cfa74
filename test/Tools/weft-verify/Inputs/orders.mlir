// A product that is added to in f32, and a sum: of invariant programs.
#row = affine_map<(m, n, k) -> (m, k)>
#col = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#vec = affine_map<(m, n) -> (m)>
weft.mesh @mesh = <["tp"=2]>
func.func @step(%x: tensor<4x256xf32>, %w: tensor<256x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %y = weft.matmul %x, %w {indexing_maps = [#row, #col, #out]} : tensor<4x256xf32>, tensor<256x8xf32> -> tensor<4x8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #vec], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x256xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %z, %t : tensor<4x8xf32>, tensor<4xf32>
}
