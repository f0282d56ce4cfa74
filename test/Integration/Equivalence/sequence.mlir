// RUN: %equivalence %s --mesh tp=2 --mesh tp=3 --mesh dp=2,tp=4 --mesh dp=2,sp=2,tp=2 --mesh dp=3,sp=2,tp=2

// Activations at rest over the sequence, along the ranks that share the
// weights: gathered in front of a column's contraction, scattered after a
// row's; a norm on the sequence's parts; in bf16 with f32 sums.
weft.mesh @mesh = <["dp"=1, "sp"=1, "tp"=1]>
func.func @block(
    %x: tensor<6x12x8xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"sp", "tp"}, {}]>},
    %w1: tensor<8x20xbf16> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w2: tensor<20x8xbf16> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
    %mask: tensor<6x12xi1> {weft.name = "mask", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"sp", "tp"}]>})
    -> (tensor<6x12x8xbf16> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"sp", "tp"}, {}]>},
        tensor<6x12xf32> {weft.name = "square", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"sp", "tp"}]>},
        tensor<8x20xf32> {weft.name = "g1", weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %zero = arith.constant dense<0.0> : tensor<6x12xf32>
  %square = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<6x12x8xbf16>) outs(%zero : tensor<6x12xf32>) {
  ^bb0(%v: bf16, %acc: f32):
    %e = arith.extf %v : bf16 to f32
    %m = arith.mulf %e, %e : f32
    %a = arith.addf %acc, %m : f32
    linalg.yield %a : f32
  } -> tensor<6x12xf32>
  %empty = tensor.empty() : tensor<6x12x8xbf16>
  %normed = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %square, %mask : tensor<6x12x8xbf16>, tensor<6x12xf32>, tensor<6x12xi1>) outs(%empty : tensor<6x12x8xbf16>) {
  ^bb0(%v: bf16, %q: f32, %keep: i1, %o: bf16):
    %one = arith.constant 1.0 : f32
    %none = arith.constant 0.0 : f32
    %e = arith.extf %v : bf16 to f32
    %r = arith.addf %q, %one : f32
    %d = arith.divf %e, %r : f32
    %k = arith.select %keep, %d, %none : f32
    %t = arith.truncf %k : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<6x12x8xbf16>
  %h = weft.matmul %normed, %w1 {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>]}
      : tensor<6x12x8xbf16>, tensor<8x20xbf16> -> tensor<6x12x20xbf16>
  %y = weft.matmul %h, %w2 {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>]}
      : tensor<6x12x20xbf16>, tensor<20x8xbf16> -> tensor<6x12x8xbf16>
  %g1 = weft.matmul %normed, %h {indexing_maps = [affine_map<(m, n, b, s) -> (b, s, m)>, affine_map<(m, n, b, s) -> (b, s, n)>, affine_map<(m, n, b, s) -> (m, n)>]}
      : tensor<6x12x8xbf16>, tensor<6x12x20xbf16> -> tensor<8x20xf32>
  return %y, %square, %g1 : tensor<6x12x8xbf16>, tensor<6x12xf32>, tensor<8x20xf32>
}
