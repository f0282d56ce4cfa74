// RUN: %equivalence %s --ring always --mesh dp=1 --mesh cp=2 --mesh cp=4 --mesh cp=8 --mesh dp=2,cp=2 --mesh tp=2,cp=4
// RUN: %equivalence %s --ring always --backend host --mesh cp=2 --mesh cp=4 --mesh cp=8

// Keys and values travel around cp. Causal, in windows to both sides (some
// steps are left out), with segments, a mask and a softcap, and
// with no mask at all; heads that share keys; and queries that see no key.
#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#mask = affine_map<(b, h, g, i, j, d, e) -> (b, j)>
#rows = affine_map<(b, h, g, i, j, d, e) -> (b, i)>
#out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
#qs = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}, {}]>
#ks = #weft.sharding<@mesh, [{"dp"}, {"cp"}, {"tp"}, {}]>
#ls = #weft.sharding<@mesh, [{"dp"}, {"tp"}, {}, {"cp"}]>
!q = tensor<2x16x2x3x4xf32>
!k = tensor<2x16x2x4xf32>
!v = tensor<2x16x2x5xf32>
!o = tensor<2x16x2x3x5xf32>
!l = tensor<2x2x3x16xf32>

weft.mesh @mesh = <["dp"=1, "tp"=1, "cp"=1]>
func.func @ring(
    %q: !q {weft.name = "q", weft.sharding = #qs},
    %k: !k {weft.name = "k", weft.sharding = #ks},
    %v: !v {weft.name = "v", weft.sharding = #ks},
    %mask: tensor<2x16xi1> {weft.name = "mask", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %rows: tensor<2x16xi32> {weft.name = "rows", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"cp"}]>},
    %dout: !o {weft.name = "dout", weft.sharding = #qs})
    -> (
        !o {weft.name = "out", weft.sharding = #qs}, !l {weft.name = "lse", weft.sharding = #ls},
        !q {weft.name = "dq", weft.sharding = #qs}, !k {weft.name = "dk", weft.sharding = #ks}, !v {weft.name = "dv", weft.sharding = #ks},
        !o {weft.name = "causal", weft.sharding = #qs},
        !q {weft.name = "cdq", weft.sharding = #qs}, !k {weft.name = "cdk", weft.sharding = #ks}, !v {weft.name = "cdv", weft.sharding = #ks},
        !o {weft.name = "near", weft.sharding = #qs},
        !q {weft.name = "ndq", weft.sharding = #qs}, !k {weft.name = "ndk", weft.sharding = #ks}, !v {weft.name = "ndv", weft.sharding = #ks},
        !o {weft.name = "all", weft.sharding = #qs}) {
  %out, %lse = weft.attention %q, %k, %v mask %mask segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, left = 6, right = 1>,
      indexing_maps = [#q, #k, #v, #mask, #rows, #mask, #out, #lse]}
      : (!q, !k, !v, tensor<2x16xi1>, tensor<2x16xi32>, tensor<2x16xi32>) -> (!o, !l)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout mask %mask segments %rows, %rows {
      config = #weft.attention<scale = 0.5 : f32, softcap = 3.0 : f32, left = 6, right = 1>,
      indexing_maps = [#q, #k, #v, #mask, #rows, #mask, #out, #lse, #out, #q, #k, #v]}
      : (!q, !k, !v, tensor<2x16xi1>, tensor<2x16xi32>, tensor<2x16xi32>, !o, !l, !o) -> (!q, !k, !v)
  %causal, %clse = weft.attention %q, %k, %v {
      config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!q, !k, !v) -> (!o, !l)
  %cdq, %cdk, %cdv = weft.attention_grad %q, %k, %v, %causal, %clse, %dout {
      config = #weft.attention<scale = 0.5 : f32, right = 0>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!q, !k, !v, !o, !l, !o) -> (!q, !k, !v)
  %near, %nlse = weft.attention %q, %k, %v {
      config = #weft.attention<scale = 0.5 : f32, left = 3, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!q, !k, !v) -> (!o, !l)
  %ndq, %ndk, %ndv = weft.attention_grad %q, %k, %v, %near, %nlse, %dout {
      config = #weft.attention<scale = 0.5 : f32, left = 3, right = 0>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!q, !k, !v, !o, !l, !o) -> (!q, !k, !v)
  %all, %alse = weft.attention %q, %k, %v {
      config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!q, !k, !v) -> (!o, !l)
  return %out, %lse, %dq, %dk, %dv, %causal, %cdq, %cdk, %cdv, %near, %ndq, %ndk, %ndv, %all
      : !o, !l, !q, !k, !v, !o, !q, !k, !v, !o, !q, !k, !v, !o
}
