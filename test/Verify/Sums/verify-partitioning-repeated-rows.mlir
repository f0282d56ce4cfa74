// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Rows that are repeated twice each, of which a rank has one copy: two ranks have
// the same one.

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @copies_of_rows
module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @copies_of_rows(%x: tensor<1x3xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<3xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) {
    %e = tensor.empty() : tensor<1x1x3xf32>
    %0 = linalg.generic {indexing_maps = [#x, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x3xf32>) outs(%e : tensor<1x1x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x1x3xf32>
    %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<1x1x3xf32> into tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  module @global {
    func.func @copies_of_rows(%x: tensor<2x3xf32>) -> tensor<12xf32> {
      %e = tensor.empty() : tensor<2x2x3xf32>
      %0 = linalg.generic {indexing_maps = [#x, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x2x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x2x3xf32>
      %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<2x2x3xf32> into tensor<12xf32>
      return %1 : tensor<12xf32>
    }
  }
}

// -----

// A sum over what is not repeated and what is: each along an axis of its own,
// which both have two ranks.

#v = affine_map<(i, j) -> (i)>
#s = affine_map<(i, j) -> ()>
// CHECK-LABEL: func.func @along_the_other
module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @along_the_other(%x: tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %e = tensor.empty() : tensor<1x1xf32>
    %0 = linalg.generic {indexing_maps = [#v, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1xf32>) outs(%e : tensor<1x1xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x1xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, #s], iterator_types = ["reduction", "reduction"]} ins(%0 : tensor<1x1xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %sum = arith.addf %o, %p : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"a", "b"}> : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @global {
    func.func @along_the_other(%x: tensor<2xf32>) -> tensor<f32> {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %e = tensor.empty() : tensor<2x2xf32>
      %0 = linalg.generic {indexing_maps = [#v, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x2xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, #s], iterator_types = ["reduction", "reduction"]} ins(%0 : tensor<2x2xf32>) outs(%zero : tensor<f32>) {
      ^bb0(%p: f32, %o: f32):
        %sum = arith.addf %o, %p : f32
        linalg.yield %sum : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}
