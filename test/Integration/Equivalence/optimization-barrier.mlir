// RUN: %equivalence %s --mesh dp=1,tp=1 --mesh dp=2,tp=1 --mesh dp=3,tp=2 --mesh dp=2,tp=4

// One axis cuts several of the values, in different dims; one value is a
// constant, one a sum over ranks, one a weight.
weft.mesh @mesh = <["dp"=1, "tp"=1]>
func.func @backward(
    %x: tensor<10x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<8x12xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %g: tensor<10x12xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<8x12xf32> {weft.name = "gradient", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<10x8xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
  %cst = arith.constant dense<0.5> : tensor<10x8xf32>
  %h = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x8xf32>, tensor<8x12xf32> -> tensor<10x12xf32>
  %forward = math.tanh %h : tensor<10x12xf32>
  %scaled = arith.mulf %forward, %g : tensor<10x12xf32>
  %back = weft.matmul %scaled, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x12xf32>, tensor<8x12xf32> -> tensor<10x8xf32>
  %own = weft.optimization_barrier %w : tensor<8x12xf32>
  %0:4 = weft.optimization_barrier %x, %scaled, %back, %cst : tensor<10x8xf32>, tensor<10x12xf32>, tensor<10x8xf32>, tensor<10x8xf32>
  %again = weft.matmul %0#0, %own {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x8xf32>, tensor<8x12xf32> -> tensor<10x12xf32>
  %cosh = math.tanh %again : tensor<10x12xf32>
  %both = arith.mulf %cosh, %0#1 : tensor<10x12xf32>
  %gradient = weft.matmul %0#0, %both {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x8xf32>, tensor<10x12xf32> -> tensor<8x12xf32>
  %sum = arith.addf %0#2, %0#3 : tensor<10x8xf32>
  return %gradient, %sum : tensor<8x12xf32>, tensor<10x8xf32>
}
