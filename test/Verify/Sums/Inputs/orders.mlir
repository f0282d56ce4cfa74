// Sums with orders, in a kernel and in a product, over what ranks share and what they do not.
module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @step(%x: tensor<256x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                  %w: tensor<64x64xf32>)
      -> (tensor<64xf32>, tensor<256xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %columns = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<256x64xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    %p = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<256x64xf32>, tensor<64x64xf32> -> tensor<256x64xf32>
    %g = tensor.empty() : tensor<256xf32>
    %h = linalg.fill ins(%zero : f32) outs(%g : tensor<256xf32>) -> tensor<256xf32>
    %rows = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<256x64xf32>) outs(%h : tensor<256xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<256xf32>
    return %columns, %rows : tensor<64xf32>, tensor<256xf32>
  }
}
