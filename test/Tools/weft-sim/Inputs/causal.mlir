// SPDX-License-Identifier: Apache-2.0

// Causal attention of 32,768 positions over eight ranks, with its gradient.
#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
weft.mesh @mesh = <["cp"=8]>
func.func @step(%q: tensor<1x32768x32x1x128xbf16> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>}, %k: tensor<1x32768x32x128xbf16> {weft.name = "k", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}]>}, %v: tensor<1x32768x32x128xbf16> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}]>}, %dout: tensor<1x32768x32x1x128xbf16> {weft.name = "dout", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
  -> (tensor<1x32768x32x1x128xbf16> {weft.name = "out", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>}, tensor<1x32768x32x1x128xbf16> {weft.name = "dq", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>}, tensor<1x32768x32x128xbf16> {weft.name = "dk", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}]>}, tensor<1x32768x32x128xbf16> {weft.name = "dv", weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}, {}]>}) {
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.088 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<1x32768x32x1x128xbf16>, tensor<1x32768x32x128xbf16>, tensor<1x32768x32x128xbf16>) -> (tensor<1x32768x32x1x128xbf16>, tensor<1x32x1x32768xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout {config = #weft.attention<scale = 0.088 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (tensor<1x32768x32x1x128xbf16>, tensor<1x32768x32x128xbf16>, tensor<1x32768x32x128xbf16>, tensor<1x32768x32x1x128xbf16>, tensor<1x32x1x32768xf32>, tensor<1x32768x32x1x128xbf16>) -> (tensor<1x32768x32x1x128xbf16>, tensor<1x32768x32x128xbf16>, tensor<1x32768x32x128xbf16>)
  return %out, %dq, %dk, %dv : tensor<1x32768x32x1x128xbf16>, tensor<1x32768x32x1x128xbf16>, tensor<1x32768x32x128xbf16>, tensor<1x32768x32x128xbf16>
}

