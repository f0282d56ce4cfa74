// RUN: %equivalence %s --mesh fsdp=1 --mesh fsdp=2 --mesh tp=3 --mesh fsdp=2,tp=2 --mesh dp=2,fsdp=2,tp=2 --mesh dp=3,fsdp=2,tp=2

// A layer and its gradients: batch over dp and fsdp, weights at rest over fsdp
// and over tp, as columns and as rows; the update is in place.
weft.mesh @mesh = <["dp"=1, "fsdp"=1, "tp"=1]>
func.func @layer(
    %x: tensor<12x10xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %w1: tensor<10x14xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>},
    %w2: tensor<14x10xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<10x14xf32> {weft.name = "w1", weft.alias = 1 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>},
        tensor<14x10xf32> {weft.name = "w2", weft.alias = 2 : index, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>}) {
  %h = weft.matmul %x, %w1 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<12x10xf32>, tensor<10x14xf32> -> tensor<12x14xf32>
  %eh = tensor.empty() : tensor<12x14xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<12x14xf32>) outs(%eh : tensor<12x14xf32>) {
  ^bb0(%v: f32, %out: f32):
    %s = math.tanh %v : f32
    linalg.yield %s : f32
  } -> tensor<12x14xf32>
  %y = weft.matmul %a, %w2 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<12x14xf32>, tensor<14x10xf32> -> tensor<12x10xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<12x10xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.mulf %v, %v : f32
    %s = arith.addf %q, %acc : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %g2 = weft.matmul %a, %y {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<12x14xf32>, tensor<12x10xf32> -> tensor<14x10xf32>
  %da = weft.matmul %y, %w2 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<12x10xf32>, tensor<14x10xf32> -> tensor<12x14xf32>
  %g1 = weft.matmul %x, %da {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<12x10xf32>, tensor<12x14xf32> -> tensor<10x14xf32>
  %e1 = tensor.empty() : tensor<10x14xf32>
  %n1 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %g1 : tensor<10x14xf32>, tensor<10x14xf32>) outs(%e1 : tensor<10x14xf32>) {
  ^bb0(%w: f32, %g: f32, %out: f32):
    %s = arith.subf %w, %g : f32
    linalg.yield %s : f32
  } -> tensor<10x14xf32>
  %e2 = tensor.empty() : tensor<14x10xf32>
  %n2 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%w2, %g2 : tensor<14x10xf32>, tensor<14x10xf32>) outs(%e2 : tensor<14x10xf32>) {
  ^bb0(%w: f32, %g: f32, %out: f32):
    %s = arith.subf %w, %g : f32
    linalg.yield %s : f32
  } -> tensor<14x10xf32>
  return %loss, %n1, %n2 : tensor<f32>, tensor<10x14xf32>, tensor<14x10xf32>
}
