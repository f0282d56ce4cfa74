// A layer, its loss, and what else has a form: the program of which
// certificates.py changes one thing at a time.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#none = affine_map<(i) -> ()>
#one = affine_map<(i) -> (i)>
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @step(%x: tensor<8x4096xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                %w: tensor<4096x64xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                %u: tensor<4096x64xbf16> {weft.name = "u", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                %t: tensor<64x16xf32> {weft.name = "t", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                %n: tensor<8xi32> {weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<8x64xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
        tensor<4x2x64xf32> {weft.name = "z", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}, {}]>},
        tensor<8x16xf32> {weft.name = "rows", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
        tensor<64x16xf32> {weft.name = "sums", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %low = arith.constant dense<0xFF800000> : tensor<8xf32>
  %table = arith.constant dense<0.0> : tensor<64x16xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %h = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<8x4096xbf16>, tensor<4096x64xbf16> -> tensor<8x64xbf16>
  %y = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x64xbf16>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %c = arith.constant 0.5 : f32
    %a1 = arith.extf %a : bf16 to f32
    %a2 = math.exp %a1 : f32
    %a3 = arith.subf %a2, %c : f32
    %a4 = arith.divf %c, %a3 : f32
    linalg.yield %a4 : f32
  } -> tensor<8x64xf32>
  %max = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<8x64xf32>) outs(%low : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #i, #i], iterator_types = ["parallel", "reduction"]}
      ins(%y, %max : tensor<8x64xf32>, tensor<8xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    %r = arith.addf %o, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %loss = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]}
      ins(%sum : tensor<8xf32>) outs(%none : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [4, 2, 64] : tensor<8x64xf32> into tensor<4x2x64xf32>
  %rows = weft.take %t, %n {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
    : tensor<64x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
  %sums = weft.scatter_add %table, %n, %rows {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
    : tensor<64x16xf32>, tensor<8xi32>, tensor<8x16xf32>
  return %loss, %y, %z, %rows, %sums : tensor<f32>, tensor<8x64xf32>, tensor<4x2x64xf32>, tensor<8x16xf32>, tensor<64x16xf32>
}
