// RUN: %equivalence %s --mesh dp=1 --mesh cp=2 --mesh cp=3 --mesh gp=2 --mesh tp=2,gp=3 --mesh dp=2,cp=4 --mesh dp=2,tp=2,cp=2,gp=2

// Sequences over dp, heads of keys over tp, heads that share them over gp, and
// queries, keys and values over cp: those are gathered, and the gradients of keys
// and values are sums over gp and cp. 10 queries on 3 or 4 ranks, and 3 heads on
// 2, have padding.
#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#bias = affine_map<(b, h, g, i, j, d, e) -> (h, g, i, j)>
#mask = affine_map<(b, h, g, i, j, d, e) -> (b, j)>
#rows = affine_map<(b, h, g, i, j, d, e) -> (b, i)>
#out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>

weft.mesh @mesh = <["dp"=1, "tp"=1, "gp"=1, "cp"=1]>
func.func @attention(
    %q: tensor<3x10x2x3x4xf32> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
    %k: tensor<3x10x2x4xf32> {weft.name = "k", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>},
    %v: tensor<3x10x2x5xf32> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>},
    %bias: tensor<2x3x10x10xf32> {weft.name = "bias", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"gp"}, {"cp"}, {}]>},
    %mask: tensor<3x10xi1> {weft.name = "mask", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %rows: tensor<3x10xi32> {weft.name = "rows", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}]>},
    %low: tensor<3x2x3x10xi32> {weft.name = "low", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}, {"gp"}, {"cp"}]>},
    %high: tensor<3x10xi32> {weft.name = "high", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}]>},
    %dout: tensor<3x10x2x3x5xf32> {weft.name = "dout", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>})
    -> (
        tensor<3x10x2x3x5xf32> {weft.name = "out", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
        tensor<3x2x3x10xf32> {weft.name = "lse", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}, {"gp"}, {"cp"}]>},
        tensor<3x10x2x3x4xf32> {weft.name = "dq", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
        tensor<3x10x2x4xf32> {weft.name = "dk", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>},
        tensor<3x10x2x5xf32> {weft.name = "dv", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>},
        tensor<3x10x2x3x5xf32> {weft.name = "plain", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
        tensor<3x10x2x3x5xf32> {weft.name = "dropped", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
        tensor<3x10x2x3x4xf32> {weft.name = "ddq", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {"gp"}, {}]>},
        tensor<3x10x2x4xf32> {weft.name = "ddk", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>},
        tensor<3x10x2x5xf32> {weft.name = "ddv", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>}) {
  %out, %lse = weft.attention %q, %k, %v bias %bias mask %mask segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, fill = -9.0 : f32, left = 6, right = 1>,
      indexing_maps = [#q, #k, #v, #bias, #mask, #rows, #mask, #out, #lse]}
      : (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>, tensor<2x3x10x10xf32>, tensor<3x10xi1>, tensor<3x10xi32>, tensor<3x10xi32>)
      -> (tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout bias %bias mask %mask segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, fill = -9.0 : f32, left = 6, right = 1>,
      indexing_maps = [#q, #k, #v, #bias, #mask, #rows, #mask, #out, #lse, #out, #q, #k, #v]}
      : (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>, tensor<2x3x10x10xf32>, tensor<3x10xi1>, tensor<3x10xi32>, tensor<3x10xi32>, tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>, tensor<3x10x2x3x5xf32>)
      -> (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>)
  %plain, %unused = weft.attention %q, %k, %v {
      config = #weft.attention<scale = 0.5 : f32, left = 3>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>) -> (tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>)
  %dropped, %all = weft.attention %q, %k, %v dropout %low, %high {
      config = #weft.attention<scale = 0.5 : f32, left = 6, dropout = 0.3 : f32>,
      indexing_maps = [#q, #k, #v, #lse, #rows, #out, #lse]}
      : (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>, tensor<3x2x3x10xi32>, tensor<3x10xi32>)
      -> (tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>)
  %ddq, %ddk, %ddv = weft.attention_grad %q, %k, %v, %dropped, %all, %dout dropout %low, %high {
      config = #weft.attention<scale = 0.5 : f32, left = 6, dropout = 0.3 : f32>,
      indexing_maps = [#q, #k, #v, #lse, #rows, #out, #lse, #out, #q, #k, #v]}
      : (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>, tensor<3x2x3x10xi32>, tensor<3x10xi32>, tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>, tensor<3x10x2x3x5xf32>)
      -> (tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>)
  return %out, %lse, %dq, %dk, %dv, %plain, %dropped, %ddq, %ddk, %ddv : tensor<3x10x2x3x5xf32>, tensor<3x2x3x10xf32>, tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>, tensor<3x10x2x3x5xf32>, tensor<3x10x2x3x5xf32>, tensor<3x10x2x3x4xf32>, tensor<3x10x2x4xf32>, tensor<3x10x2x5xf32>
}
