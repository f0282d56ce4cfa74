// SPDX-License-Identifier: Apache-2.0

// Causal attention and its gradient, with keys over cp.
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
!t = tensor<8x4xf32>
weft.mesh @mesh = <["cp"=2]>
func.func @ring(%q: !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}, %k: !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}, %v: !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}, %dout: !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}) -> (!t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}, !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}, !t {weft.sharding = #weft.sharding<@mesh, [{"cp"}, {}]>}) {
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (!t, !t, !t) -> (!t, tensor<8xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]} : (!t, !t, !t, !t, tensor<8xf32>, !t) -> (!t, !t, !t)
  return %out, %dq, %dk : !t, !t, !t
}
