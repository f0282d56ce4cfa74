// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// The rows of the other axis.

module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @result(%a: tensor<1x1x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) {
    // expected-error @below {{result #0 has dim 0 of size 2 in chunks [0, 0, 1, 1], expected size 4 in chunks [0, 2, 1, 3]}}
    return %a : tensor<1x1x6xf32>
  }
  module @global {
    func.func @result(%a: tensor<2x2x6xf32>) -> tensor<4x1x6xf32> {
      %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      return %1 : tensor<4x1x6xf32>
    }
  }
}

// -----

// Rows that are alike are those of one pair, and not every second one.

module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @repeated(%a: tensor<1x6xf32> {weft.global_type = tensor<2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<1x6xf32>) outs(%e : tensor<1x1x6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x1x6xf32>
    // expected-error @below {{result #0 has dim 0 of size 2 in chunks [0, 0, 1, 1], expected size 4 in chunks [0, 2, 1, 3]}}
    return %0 : tensor<1x1x6xf32>
  }
  module @global {
    func.func @repeated(%a: tensor<2x6xf32>) -> tensor<4x1x6xf32> {
      %e = tensor.empty() : tensor<2x2x6xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x6xf32>) outs(%e : tensor<2x2x6xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x2x6xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      return %2 : tensor<4x1x6xf32>
    }
  }
}

// -----

// What the global program reshapes first is computed, but another function of it.

module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @computed(%a: tensor<1x1x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) {
    %e0 = tensor.empty() : tensor<1x1x6xf32>
    %0 = linalg.exp ins(%a : tensor<1x1x6xf32>) outs(%e0 : tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
    // expected-error @below {{result #0 has dim 0 of size 2 in chunks [0, 1, 0, 1], expected size 4 in chunks [0, 2, 1, 3]}}
    return %0 : tensor<1x1x6xf32>
  }
  module @global {
    func.func @computed(%a: tensor<2x2x6xf32>) -> tensor<4x1x6xf32> {
      %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      %e2 = tensor.empty() : tensor<4x1x6xf32>
      %2 = linalg.tanh ins(%1 : tensor<4x1x6xf32>) outs(%e2 : tensor<4x1x6xf32>) -> tensor<4x1x6xf32>
      return %2 : tensor<4x1x6xf32>
    }
  }
}

// -----

// Rows that are cut unequally are no chunks of what they become: of 2x3 elements
// rank (1, 0) has the fourth, and not the sixth.

module {
  weft.mesh @mesh = <["a"=2, "b"=5]>
  func.func @f(%x: tensor<1x1xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<1xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) {
    // expected-error@+1 {{makes one dimension of rows of 3 elements that are cut unequally}}
    %0 = tensor.collapse_shape %x [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  module @global {
    func.func @f(%x: tensor<2x3xf32>) -> tensor<6xf32> {
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      return %0 : tensor<6xf32>
    }
  }
}

// -----

// Nor are chunks parts of rows that they do not divide: of the second rank's two
// elements one is in the first row and one in the second.

module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @f(%x: tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) -> (tensor<1x2xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>}) {
    %0 = tensor.expand_shape %x [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 1 in chunks [0, 0, 0, 0], expected size 2 in chunks [0, 0, 1, 1]}}
    return %0 : tensor<1x2xf32>
  }
  module @global {
    func.func @f(%x: tensor<6xf32>) -> tensor<2x3xf32> {
      %0 = tensor.expand_shape %x [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
  }
}

// -----

// A gather of two dimensions as one has the members of the first one outermost.

module {
  weft.mesh @mesh = <["x"=2, "z"=2]>
  func.func @f(%a: tensor<1x2x8xf32> {weft.global_type = tensor<2x4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}, {"x"}, {}]>}) -> (tensor<1x2x4x8xf32> {weft.global_type = tensor<1x2x4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}, {}]>}) {
    // expected-error@+1 {{works on different parts of a tensor: ranks 0 and 1 have along dim 0 chunks 0 and 1}}
    %0 = weft.all_gather %a on @mesh <{"x", "z"}> dims [1] : (tensor<1x2x8xf32>) -> tensor<1x8x8xf32>
    %1 = tensor.expand_shape %0 [[0], [1, 2], [3]] output_shape [1, 2, 4, 8] : tensor<1x8x8xf32> into tensor<1x2x4x8xf32>
    return %1 : tensor<1x2x4x8xf32>
  }
  module @global {
    func.func @f(%a: tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32> {
      %0 = tensor.expand_shape %a [[0, 1], [2], [3]] output_shape [1, 2, 4, 8] : tensor<2x4x8xf32> into tensor<1x2x4x8xf32>
      return %0 : tensor<1x2x4x8xf32>
    }
  }
}
