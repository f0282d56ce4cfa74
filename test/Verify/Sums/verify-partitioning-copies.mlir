// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// A tensor of several dimensions that is repeated: ranks have some of its copies.
#m = affine_map<(d0, d1, d2) -> (d1, d2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  weft.mesh @mesh = <["a"=2]>
  func.func @repeated_rows(%x: tensor<5x7xi32>) -> (tensor<70xi32> {weft.global_type = tensor<140xi32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %e = tensor.empty() : tensor<2x5x7xi32>
    %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x7xi32>) outs(%e : tensor<2x5x7xi32>) {
    ^bb0(%p: i32, %o: i32):
      linalg.yield %p : i32
    } -> tensor<2x5x7xi32>
    %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<2x5x7xi32> into tensor<70xi32>
    return %1 : tensor<70xi32>
  }
  module @global {
    func.func @repeated_rows(%x: tensor<5x7xi32>) -> tensor<140xi32> {
      %e = tensor.empty() : tensor<4x5x7xi32>
      %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x7xi32>) outs(%e : tensor<4x5x7xi32>) {
      ^bb0(%p: i32, %o: i32):
        linalg.yield %p : i32
      } -> tensor<4x5x7xi32>
      %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<4x5x7xi32> into tensor<140xi32>
      return %1 : tensor<140xi32>
    }
  }
}

// -----

// Copies of which each is another one are not repeated.

#m = affine_map<(d0, d1, d2) -> (d1, d2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  weft.mesh @mesh = <["a"=2]>
  func.func @counted_rows(%x: tensor<5x7xi32>) -> (tensor<70xi32> {weft.global_type = tensor<140xi32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %e = tensor.empty() : tensor<2x5x7xi32>
    %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x7xi32>) outs(%e : tensor<2x5x7xi32>) {
    ^bb0(%p: i32, %o: i32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i32
      %r = arith.addi %p, %j : i32
      linalg.yield %r : i32
    } -> tensor<2x5x7xi32>
    %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<2x5x7xi32> into tensor<70xi32>
    // expected-error @+1 {{result #0 has dim 0 of size 70 in chunks [0, 0], expected size 140 in chunks [0, 1]}}
    return %1 : tensor<70xi32>
  }
  module @global {
    func.func @counted_rows(%x: tensor<5x7xi32>) -> tensor<140xi32> {
      %e = tensor.empty() : tensor<4x5x7xi32>
      %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x7xi32>) outs(%e : tensor<4x5x7xi32>) {
      ^bb0(%p: i32, %o: i32):
        %i = linalg.index 0 : index
        %j = arith.index_cast %i : index to i32
        %r = arith.addi %p, %j : i32
        linalg.yield %r : i32
      } -> tensor<4x5x7xi32>
      %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<4x5x7xi32> into tensor<140xi32>
      return %1 : tensor<140xi32>
    }
  }
}
