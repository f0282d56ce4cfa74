// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @no_start(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    // expected-error@+1 {{begins at query [0, 0], but the rank's queries begin at [0, 4]}}
    %out, %lse = weft.attention %q, %whole, %whole {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dks = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @no_start(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
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

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @gradient_starts_elsewhere(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    // expected-error@+1 {{begins at query [0, 1], but the rank's queries begin at [0, 4]}}
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %dout start %rank {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dks = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @gradient_starts_elsewhere(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
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

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @own_keys(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    // expected-error@+1 {{begins at query [0, 4], but the rank's queries begin at [0, 0]}}
    %out, %lse = weft.attention %q, %k, %k start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %dout start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>)
    %at = arith.constant 0 : index
    %dks = tensor.extract_slice %dk[0, 0, 0] [2, 4, 4] [1, 1, 1] : tensor<2x4x4xf32> to tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @own_keys(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
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

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @no_sum(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
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
    %at = arith.constant 0 : index
    %dks = tensor.extract_slice %dk[0, 0, 0] [2, 4, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x4x4xf32>
    // expected-error@+1 {{result #2 is a contribution: one of 2 parts of attention_grad 2x8x4xf32 (}}
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @no_sum(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
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

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @other_window(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    // expected-error@+1 {{makes result #0 another one: attention 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, right = 1>}}
    %out, %lse = weft.attention %q, %whole, %whole start %start {config = #weft.attention<scale = 0.5 : f32, right = 1>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %dout start %start {config = #weft.attention<scale = 0.5 : f32, right = 1>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dks = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @other_window(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      // expected-note@+1 {{this op of the global program makes attention 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, right = 0>}}
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

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @queries_for_outputs(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    // expected-error@+1 {{makes result #1 another one: attention 2x8x4xf32 (}}
    %out, %lse = weft.attention %q, %whole, %whole start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %out, %whole, %whole, %q, %lse, %dout start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dks = weft.reduce_scatter sum %dk on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @queries_for_outputs(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %dout: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
    // expected-note@+1 {{this op of the global program makes argument 2x8x4xf32 (0)}}
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32, right = 0>,
          indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dq, %dk : tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @padding(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %dout: tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x7x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %rank = weft.axis_index @mesh <{"cp"}>
    %chunk = arith.constant 4 : index
    %start = arith.muli %rank, %chunk : index
    %padded = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %whole = tensor.extract_slice %padded[0, 0, 0] [2, 7, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x7x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    // expected-error@+1 {{combines elements past the end of a dimension of size 7}}
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %dout start %start {config = #weft.attention<scale = 0.5 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, index) -> (tensor<2x4x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>)
    %zero = arith.constant 0.0 : f32
    %wide = tensor.pad %dk low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%a: index, %b: index, %c: index):
      tensor.yield %zero : f32
    } : tensor<2x7x4xf32> to tensor<2x8x4xf32>
    %dks = weft.reduce_scatter sum %wide on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dq, %dks : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @padding(%q: tensor<2x7x4xf32>, %k: tensor<2x7x4xf32>, %dout: tensor<2x7x4xf32>) -> (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>) -> (tensor<2x7x4xf32>, tensor<2x7xf32>)
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32, right = 0>,
          indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7xf32>, tensor<2x7x4xf32>) -> (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>)
      return %out, %dq, %dk : tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>
    }
  }
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @other_rate(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %low: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>}, %high: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    // expected-error@+1 {{makes result #0 another one: attention 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, dropout = 5.000000e-01 : f32>}}
    %out, %lse = weft.attention %q, %whole, %whole dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.5 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.5 : f32>,
        indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dvs = weft.reduce_scatter sum %dv on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dvs : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @other_rate(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %low: tensor<2x8xi32>, %high: tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      // expected-note@+1 {{this op of the global program makes attention 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, dropout = 2.500000e-01 : f32>}}
    %out, %lse = weft.attention %q, %k, %k dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
          indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dv : tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @other_seeds(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %low: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>}, %high: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    // expected-error@+1 {{makes result #0 another one: argument 2x8xi32 (3), but in the global program argument 2x8xi32 (2)}}
    %out, %lse = weft.attention %q, %whole, %whole dropout %high, %low {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %q dropout %high, %low {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
        indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dvs = weft.reduce_scatter sum %dv on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dvs : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @other_seeds(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %low: tensor<2x8xi32>, %high: tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      // expected-note@+1 {{this op of the global program makes argument 2x8xi32 (2)}}
    %out, %lse = weft.attention %q, %k, %k dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
          indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dv : tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @other_rate_of_gradient(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %low: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>}, %high: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    // expected-error@+1 {{makes result #1 another one: attention_grad 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, dropout = 5.000000e-01 : f32>}}
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.5 : f32>,
        indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dvs = weft.reduce_scatter sum %dv on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dvs : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @other_rate_of_gradient(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %low: tensor<2x8xi32>, %high: tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      // expected-note@+1 {{this op of the global program makes attention_grad 2x8x4xf32 (#weft.attention<scale = 5.000000e-01 : f32, dropout = 2.500000e-01 : f32>}}
    %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
          indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dv : tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
module {
  weft.mesh @mesh = <["cp"=2]>
  func.func @other_seeds_of_gradient(%q: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %k: tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, %low: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>}, %high: tensor<2x4xi32> {weft.global_type = tensor<2x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}]>})
      -> (tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}, tensor<2x4x4xf32> {weft.global_type = tensor<2x8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"cp"}, {}]>}) {
    %whole = weft.all_gather %k on @mesh <{"cp"}> dims [1] : (tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
    %out, %lse = weft.attention %q, %whole, %whole dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>)
    // expected-error@+1 {{makes result #1 another one: argument 2x8xi32 (2), but in the global program argument 2x8xi32 (3)}}
    %dq, %dk, %dv = weft.attention_grad %q, %whole, %whole, %out, %lse, %q dropout %low, %low {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
        indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
        : (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    %dvs = weft.reduce_scatter sum %dv on @mesh <{"cp"}> dims [1] : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
    return %out, %dvs : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  module @global {
    func.func @other_seeds_of_gradient(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %low: tensor<2x8xi32>, %high: tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
      %out, %lse = weft.attention %q, %k, %k dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>, indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
      // expected-note@+1 {{this op of the global program makes argument 2x8xi32 (3)}}
      %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
          indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse, #out, #q, #k, #v]}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      return %out, %dv : tensor<2x8x4xf32>, tensor<2x8x4xf32>
    }
  }
}
