// RUN: weft-opt %s --weft-verify-partitioning -verify-diagnostics

// Outputs over some of the keys are no summands of that over all.
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @summed(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x4x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x4x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>}) {
    %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    // expected-error@+1 {{combines attention over some of the keys: attention 2x4x4xf32}}
    %sum = weft.all_reduce sum %out on @mesh <{"cp"}> : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    return %sum : tensor<2x4x4xf32>
  }
  module @global {
    func.func @summed(%q: tensor<2x4x4xf32>, %k: tensor<2x8x4xf32>) -> tensor<2x4x4xf32> {
      %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
      return %out : tensor<2x4x4xf32>
    }
  }
}
