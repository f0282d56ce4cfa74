// RUN: %equivalence %s --mesh dp=1,tp=1 --mesh dp=2,tp=1 --mesh dp=3,tp=2 --mesh dp=2,tp=4

// What the backward pass reads waits in the host's memory, cut as it is cut on
// the ranks, and so does a state between steps.
weft.mesh @mesh = <["dp"=1, "tp"=1]>
func.func @step(
    %x: tensor<10x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<8x12xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %m: tensor<8x12xf32> {weft.host, weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %count: tensor<1xf32> {weft.host, weft.name = "count"})
    -> (tensor<8x12xf32> {weft.alias = 2 : index, weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<1xf32> {weft.alias = 3 : index, weft.name = "count"},
        tensor<10x12xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %h = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x8xf32>, tensor<8x12xf32> -> tensor<10x12xf32>
  %t = math.tanh %h : tensor<10x12xf32>
  %saved = weft.optimization_barrier %t {offload} : tensor<10x12xf32>
  %e = math.exp %t : tensor<10x12xf32>
  %back = weft.matmul %e, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x12xf32>, tensor<8x12xf32> -> tensor<10x8xf32>
  %0:2 = weft.optimization_barrier %saved, %back : tensor<10x12xf32>, tensor<10x8xf32>
  %gradient = weft.matmul %0#1, %0#0 {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<10x8xf32>, tensor<10x12xf32> -> tensor<8x12xf32>
  %next = arith.addf %m, %gradient : tensor<8x12xf32>
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %counted = arith.addf %count, %one : tensor<1xf32>
  %y = arith.mulf %0#0, %e : tensor<10x12xf32>
  return %next, %counted, %y : tensor<8x12xf32>, tensor<1xf32>, tensor<10x12xf32>
}
