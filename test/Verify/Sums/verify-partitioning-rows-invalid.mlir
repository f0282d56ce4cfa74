// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What is made of indices is any number of rows, of any length, until it is
// reshaped: elements of other rows go to other places.

// As many elements, in rows of 2.

module {
  weft.mesh @mesh = <["t"=3]>
  func.func @in_other_rows(%x: tensor<4xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> (tensor<4xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x2xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %l = linalg.index 1 : index
      %j = arith.addi %i, %b : index
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      %m = arith.index_cast %l : index to i32
      %g = arith.sitofp %m : i32 to f32
      %h = arith.subf %f, %g : f32
      linalg.yield %h : f32
    } -> tensor<2x2xf32>
    // expected-error@+1 {{makes result #0 another one: reshape 10xf32 (of 5x2), but in the global program reshape 10xf32 (of 2x5)}}
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %x : tensor<4xf32>, tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  module @global {
    func.func @in_other_rows(%x: tensor<10xf32>) -> tensor<10xf32> {
      %e = tensor.empty() : tensor<2x5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x5xf32>) {
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %l = linalg.index 1 : index
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        %m = arith.index_cast %l : index to i32
        %g = arith.sitofp %m : i32 to f32
        %h = arith.subf %f, %g : f32
        linalg.yield %h : f32
      } -> tensor<2x5xf32>
      // expected-note@+1 {{this op of the global program makes}}
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x5xf32> into tensor<10xf32>
      %e1 = tensor.empty() : tensor<10xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %x : tensor<10xf32>, tensor<10xf32>) outs(%e1 : tensor<10xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<10xf32>
      return %2 : tensor<10xf32>
    }
  }
}

// -----

// Elements of which the rows were put in others, taken for those of before.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @not_in_other_rows(%x: tensor<1x6xf32> {weft.global_type = tensor<2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) -> (tensor<1x6xf32> {weft.global_type = tensor<2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<1x6xf32>
    // expected-error@+1 {{makes result #0 another one: map ?x?xf32 (p p (d0, d1) -> (d0, d1)), but in the global program reshape 2x6xf32}}
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<1x6xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %l = linalg.index 1 : index
      %j = arith.addi %i, %r : index
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      %m = arith.index_cast %l : index to i32
      %g = arith.sitofp %m : i32 to f32
      %h = arith.subf %f, %g : f32
      linalg.yield %h : f32
    } -> tensor<1x6xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %x : tensor<1x6xf32>, tensor<1x6xf32>) outs(%e : tensor<1x6xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<1x6xf32>
    return %1 : tensor<1x6xf32>
  }
  module @global {
    func.func @not_in_other_rows(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
      %e = tensor.empty() : tensor<3x4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x4xf32>) {
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %l = linalg.index 1 : index
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        %m = arith.index_cast %l : index to i32
        %g = arith.sitofp %m : i32 to f32
        %h = arith.subf %f, %g : f32
        linalg.yield %h : f32
      } -> tensor<3x4xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
      // expected-note@+1 {{this op of the global program makes}}
      %2 = tensor.expand_shape %1 [[0, 1]] output_shape [2, 6] : tensor<12xf32> into tensor<2x6xf32>
      %e1 = tensor.empty() : tensor<2x6xf32>
      %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %x : tensor<2x6xf32>, tensor<2x6xf32>) outs(%e1 : tensor<2x6xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<2x6xf32>
      return %3 : tensor<2x6xf32>
    }
  }
}

// -----

// 8 rows of 6 elements are 4 rows of 12; a rank gets the row of another one
// than the neighbour that has the rest of it.

module {
  weft.mesh @mesh = <["tp"=8]>
  func.func @regrouped(%x: tensor<1x6xf32> {weft.global_type = tensor<8x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<1x12xf32> {weft.global_type = tensor<4x12xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(1)4}, {}]>}) {
    // expected-error@+1 {{works on different parts of a tensor: ranks 0 and 4 have along dim 0 chunks 0 and 2}}
    %0 = weft.all_gather %x on @mesh <{"tp":(1)2}> dims [1] : (tensor<1x6xf32>) -> tensor<1x12xf32>
    return %0 : tensor<1x12xf32>
  }
  module @global {
    func.func @regrouped(%x: tensor<8x6xf32>) -> tensor<4x12xf32> {
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<8x6xf32> into tensor<48xf32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 12] : tensor<48xf32> into tensor<4x12xf32>
      return %1 : tensor<4x12xf32>
    }
  }
}
