// RUN: %equivalence %s --ring balanced --mesh cp=1 --mesh cp=2 --mesh cp=3 --mesh cp=4 --mesh cp=8 --mesh tp=2,cp=4
// RUN: %equivalence %s --ring balanced --backend host --mesh cp=2 --mesh cp=3 --mesh cp=4
// RUN: sed -E 's/((24x2x3x[45]|24x2x[45])x)f32/\1bf16/g' %s > %t.mlir
// RUN: %equivalence %t.mlir --ring balanced --mesh cp=2 --mesh cp=4
// RUN: %equivalence %t.mlir --ring balanced --backend host --mesh cp=2 --mesh cp=4

// Ranks exchange halves of their queries and keys. Causal, with segments, a mask
// of keys, a mask of queries and keys and a softcap; one key beyond; heads that
// share keys.
#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#mask = affine_map<(b, h, g, i, j, d, e) -> (b, j)>
#pairs = affine_map<(b, h, g, i, j, d, e) -> (i, j)>
#rows = affine_map<(b, h, g, i, j, d, e) -> (b, i)>
#out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
#qs = #weft.sharding<@mesh, [{}, {"cp"}, {"tp"}, {}, {}]>
#ks = #weft.sharding<@mesh, [{}, {"cp"}, {"tp"}, {}]>
!q = tensor<2x24x2x3x4xf32>
!k = tensor<2x24x2x4xf32>
!v = tensor<2x24x2x5xf32>
!o = tensor<2x24x2x3x5xf32>
!l = tensor<2x2x3x24xf32>

weft.mesh @mesh = <["tp"=1, "cp"=1]>
func.func @ring(
    %q: !q {weft.name = "q", weft.sharding = #qs},
    %k: !k {weft.name = "k", weft.sharding = #ks},
    %v: !v {weft.name = "v", weft.sharding = #ks},
    %pairs: tensor<24x24xi1> {weft.name = "pairs", weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>},
    %rows: tensor<2x24xi32> {weft.name = "rows", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>},
    %dout: !o {weft.name = "dout", weft.sharding = #qs})
    -> (
        !o {weft.name = "out", weft.sharding = #qs},
        !q {weft.name = "dq", weft.sharding = #qs}, !k {weft.name = "dk", weft.sharding = #ks}, !v {weft.name = "dv", weft.sharding = #ks},
        !o {weft.name = "beyond", weft.sharding = #qs}, !l {weft.name = "lse", weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}, {}, {"cp"}]>},
        !q {weft.name = "bdq", weft.sharding = #qs}, !v {weft.name = "bdv", weft.sharding = #ks}) {
  %out, %lse = weft.attention %q, %k, %v mask %pairs segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, right = 0>,
      indexing_maps = [#q, #k, #v, #pairs, #rows, #mask, #out, #lse]}
      : (!q, !k, !v, tensor<24x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> (!o, !l)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout mask %pairs segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, right = 0>,
      indexing_maps = [#q, #k, #v, #pairs, #rows, #mask, #out, #lse, #out, #q, #k, #v]}
      : (!q, !k, !v, tensor<24x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>, !o, !l, !o) -> (!q, !k, !v)
  %beyond, %blse = weft.attention %q, %k, %v {
      config = #weft.attention<scale = 0.5 : f32, right = 1>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!q, !k, !v) -> (!o, !l)
  %bdq, %bdk, %bdv = weft.attention_grad %q, %k, %v, %beyond, %blse, %dout {
      config = #weft.attention<scale = 0.5 : f32, right = 1>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!q, !k, !v, !o, !l, !o) -> (!q, !k, !v)
  return %out, %dq, %dk, %dv, %beyond, %blse, %bdq, %bdv : !o, !q, !k, !v, !o, !l, !q, !v
}
