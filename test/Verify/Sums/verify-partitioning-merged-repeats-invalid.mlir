// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-merged.mlir does not change along a dimension, and must not be otherwise.

// A column that is padded on the other side, beside rows that make equal parts.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @other_side(%c: tensor<f32>) -> (tensor<2x2xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %begin = arith.muli %r, %two : index
    %e = tensor.empty() : tensor<3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%c : tensor<f32>) outs(%e : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3xf32>
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
    %2 = tensor.pad %1 low[0, 1] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<3x1xf32> to tensor<4x2xf32>
    %3 = tensor.extract_slice %2[%begin, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 4 in chunks [0, 1], expected size 3 in chunks [0, 1]}}
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @other_side(%c: tensor<f32>) -> tensor<3x2xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<3xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%c : tensor<f32>) outs(%e : tensor<3xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<3xf32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
      %2 = tensor.pad %1 low[0, 0] high[0, 1] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : f32
      } : tensor<3x1xf32> to tensor<3x2xf32>
      return %2 : tensor<3x2xf32>
    }
  }
}

// -----

// Rows that do not change along them, gathered as columns.

module {
  weft.mesh @mesh = <["z"=2, "x"=2]>
  func.func @columns_first(%v: tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}]>}) -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %e = tensor.empty() : tensor<1x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<1xf32>) outs(%e : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    // expected-error@+1 {{puts chunks 0, 1, 0, 1 of 1 elements one after the other, which are no neighbours}}
    %2 = weft.all_gather %1 on @mesh <{"x", "z"}> dims [0] : (tensor<1xf32>) -> tensor<4xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @columns_first(%v: tensor<2xf32>) -> tensor<2x2xf32> {
      %e = tensor.empty() : tensor<2x2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }
  }
}

// -----

// Rows that are alike, gathered as columns.

module {
  weft.mesh @mesh = <["x"=2, "z"=2]>
  func.func @alike_as_columns(%v: tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}]>}) -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %e = tensor.empty() : tensor<1x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<1xf32>) outs(%e : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    // expected-error@+1 {{puts chunks 0, 0, 1, 1 of 1 elements one after the other, which are no neighbours}}
    %2 = weft.all_gather %1 on @mesh <{"z", "x"}> dims [0] : (tensor<1xf32>) -> tensor<4xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @alike_as_columns(%v: tensor<2xf32>) -> tensor<2x2xf32> {
      %e = tensor.empty() : tensor<2x2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }
  }
}
