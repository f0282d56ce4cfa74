// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Queries are cut over cp, and keys gathered: the gradient of keys is a sum.
// CHECK-LABEL: func.func @queries
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @queries(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %dout start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dks = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @queries(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32, right = 0>,
          indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dq, %dk : tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}

// -----

// Seeds are cut as queries are, and need no start: what is dropped is in them.
// CHECK-LABEL: func.func @dropout
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @dropout(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %low: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>}, %high: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
        indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dvs = weft.reduce_scatter sum %dv on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dvs : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @dropout(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %low: tensor<2x8xi32>, %high: tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
          indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dv : tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}
