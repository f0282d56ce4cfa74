// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// What is repeated twice is cut in three, and made one dimension with one that
// has one element: the third rank has none of it.

// CHECK-LABEL: func.func @beside_one
module {
  weft.mesh @mesh = <["t"=3]>
  func.func @beside_one(%x: tensor<3x1xf32>) -> (tensor<3x1xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %zero = arith.constant 0.0 : f32
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<3x2x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x1xf32>) outs(%e : tensor<3x2x1xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<3x2x1xf32>
    %1 = tensor.pad %0 low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<3x2x1xf32> to tensor<3x3x1xf32>
    %2 = tensor.extract_slice %1[0, %r, 0] [3, 1, 1] [1, 1, 1] : tensor<3x3x1xf32> to tensor<3x1x1xf32>
    %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<3x1x1xf32> into tensor<3x1xf32>
    return %3 : tensor<3x1xf32>
  }
  module @global {
    func.func @beside_one(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
      %e = tensor.empty() : tensor<3x2x1xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x1xf32>) outs(%e : tensor<3x2x1xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<3x2x1xf32>
      %3 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<3x2x1xf32> into tensor<3x2xf32>
      return %3 : tensor<3x2xf32>
    }
  }
}

// -----

// A product of what is repeated: each rank has half of how often it is summed.

// CHECK-LABEL: func.func @product
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
    %one = arith.constant dense<1.0> : tensor<2x3xf32>
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x2xf32>
    %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x2xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  module @global {
    func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
      %one = arith.constant dense<1.0> : tensor<4x3xf32>
      %e = tensor.empty() : tensor<2x4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x4xf32>
      %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// Three chunks, repeated: the last two, which are like the second and the third,
// make one with each other that those do not.

// CHECK-LABEL: func.func @neighbours
module {
  weft.mesh @mesh = <["x"=3, "z"=2]>
  func.func @neighbours(%k: tensor<4xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>})
      -> (tensor<8xf32> {weft.global_type = tensor<24xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
    %e = tensor.empty() : tensor<1x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<4xf32>) outs(%e : tensor<1x4xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x4xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %2 = weft.permute %1 on @mesh <{"x", "z"}> sources [0, 2, 4, 1, 3, 5] : (tensor<4xf32>) -> tensor<4xf32>
    %3 = weft.all_gather %2 on @mesh <{"z"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
  module @global {
    func.func @neighbours(%k: tensor<12xf32>) -> tensor<24xf32> {
      %e = tensor.empty() : tensor<2x12xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<12xf32>) outs(%e : tensor<2x12xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x12xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x12xf32> into tensor<24xf32>
      return %1 : tensor<24xf32>
    }
  }
}
