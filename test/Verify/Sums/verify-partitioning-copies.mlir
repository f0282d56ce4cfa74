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

// -----

// Each rank sums one of the copies, which are alike.

#m = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#i = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
module {
  weft.mesh @mesh = <["a"=3]>
  func.func @summed_copies(%x: tensor<7xi32>) -> tensor<i32> {
    %zero = arith.constant dense<0> : tensor<i32>
    %e = tensor.empty() : tensor<1x7xi32>
    %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7xi32>) outs(%e : tensor<1x7xi32>) {
    ^bb0(%p: i32, %o: i32):
      linalg.yield %p : i32
    } -> tensor<1x7xi32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x7xi32> into tensor<7xi32>
    %2 = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%1 : tensor<7xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%p: i32, %o: i32):
      %r = arith.addi %o, %p : i32
      linalg.yield %r : i32
    } -> tensor<i32>
    %3 = weft.all_reduce sum %2 on @mesh <{"a"}> : (tensor<i32>) -> tensor<i32>
    return %3 : tensor<i32>
  }
  module @global {
    func.func @summed_copies(%x: tensor<7xi32>) -> tensor<i32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %e = tensor.empty() : tensor<3x7xi32>
      %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7xi32>) outs(%e : tensor<3x7xi32>) {
      ^bb0(%p: i32, %o: i32):
        linalg.yield %p : i32
      } -> tensor<3x7xi32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<3x7xi32> into tensor<21xi32>
      %2 = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%1 : tensor<21xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%p: i32, %o: i32):
        %r = arith.addi %o, %p : i32
        linalg.yield %r : i32
      } -> tensor<i32>
      return %2 : tensor<i32>
    }
  }
}

// -----

// Of copies with weights by place each is another sum: these are three times
// the first one.

#m = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#i = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
module {
  weft.mesh @mesh = <["a"=3]>
  func.func @weighted_copies(%x: tensor<7xi32>) -> tensor<i32> {
    %zero = arith.constant dense<0> : tensor<i32>
    %e = tensor.empty() : tensor<1x7xi32>
    %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7xi32>) outs(%e : tensor<1x7xi32>) {
    ^bb0(%p: i32, %o: i32):
      linalg.yield %p : i32
    } -> tensor<1x7xi32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x7xi32> into tensor<7xi32>
    %2 = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%1 : tensor<7xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%p: i32, %o: i32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i32
      %q = arith.muli %p, %j : i32
      %r = arith.addi %o, %q : i32
      linalg.yield %r : i32
    } -> tensor<i32>
    // expected-error @+1 {{combines parts 0, 0, 0 of 3 of arith.addi}}
    %3 = weft.all_reduce sum %2 on @mesh <{"a"}> : (tensor<i32>) -> tensor<i32>
    return %3 : tensor<i32>
  }
  module @global {
    func.func @weighted_copies(%x: tensor<7xi32>) -> tensor<i32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %e = tensor.empty() : tensor<3x7xi32>
      %0 = linalg.generic {indexing_maps = [#m, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7xi32>) outs(%e : tensor<3x7xi32>) {
      ^bb0(%p: i32, %o: i32):
        linalg.yield %p : i32
      } -> tensor<3x7xi32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<3x7xi32> into tensor<21xi32>
      %2 = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%1 : tensor<21xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%p: i32, %o: i32):
        %i = linalg.index 0 : index
        %j = arith.index_cast %i : index to i32
        %q = arith.muli %p, %j : i32
        %r = arith.addi %o, %q : i32
        linalg.yield %r : i32
      } -> tensor<i32>
      return %2 : tensor<i32>
    }
  }
}
