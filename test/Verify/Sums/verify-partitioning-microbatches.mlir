// RUN: weft-opt %s --weft-verify-partitioning --split-input-file | FileCheck %s

// A rank that computes several parts one after the other.

// The product of both parts' products is that of the whole.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
// CHECK-LABEL: func.func @products
module {
  weft.mesh @mesh = <[]>
  func.func @products(%x: tensor<8xf32>) -> tensor<f32> {
    %one = arith.constant dense<1.0> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %a = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %b = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<4xf32>) outs(%one : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.mulf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %q = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%b : tensor<4xf32>) outs(%one : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.mulf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%p, %q : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%i: f32, %j: f32, %o: f32):
      %m = arith.mulf %i, %j : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @products(%x: tensor<8xf32>) -> tensor<f32> {
      %one = arith.constant dense<1.0> : tensor<f32>
      %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%one : tensor<f32>) {
      ^bb0(%i: f32, %o: f32):
        %m = arith.mulf %o, %i : f32
        linalg.yield %m : f32
      } -> tensor<f32>
      return %p : tensor<f32>
    }
  }
}

// -----

// Which rows of a table a part has says nothing of how many there are: here 8, in
// a sum over them.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
// CHECK-LABEL: func.func @sum_of_rows
module {
  weft.mesh @mesh = <[]>
  func.func @sum_of_rows(%n: tensor<3xi32>, %u: tensor<3xf32>) -> tensor<f32> {
    %c4 = arith.constant 4 : index
    %zeros = arith.constant dense<0.0> : tensor<4xf32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    %f = tensor.empty() : tensor<f32>
    %a = weft.scatter_add %zeros, %n, %u {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<4xf32>, tensor<3xi32>, tensor<3xf32>
    %b = weft.scatter_add %zeros, %n, %u base %c4 {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<4xf32>, tensor<3xi32>, tensor<3xf32>
    %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.addf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %q = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%b : tensor<4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.addf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%p, %q : tensor<f32>, tensor<f32>) outs(%f : tensor<f32>) {
    ^bb0(%i: f32, %j: f32, %o: f32):
      %m = arith.addf %i, %j : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @sum_of_rows(%n: tensor<3xi32>, %u: tensor<3xf32>) -> tensor<f32> {
      %zeros = arith.constant dense<0.0> : tensor<8xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %a = weft.scatter_add %zeros, %n, %u {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<8xf32>, tensor<3xi32>, tensor<3xf32>
      %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%zero : tensor<f32>) {
      ^bb0(%i: f32, %o: f32):
        %m = arith.addf %o, %i : f32
        linalg.yield %m : f32
      } -> tensor<f32>
      return %p : tensor<f32>
    }
  }
}

// -----

// Parts of rows of which each says another thing of the size, and of what is
// the same in all rows.

#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @put_together
module {
  weft.mesh @mesh = <[]>
  func.func @put_together(%x: tensor<4xi32>, %w: tensor<3xi32>) -> (tensor<4xi32>, tensor<4x3xi32>) {
    %c2 = arith.constant 2 : index
    %e = tensor.empty() : tensor<2xi32>
    %f = tensor.empty() : tensor<2x3xi32>
    %x1 = tensor.extract_slice %x[2] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %a = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<2xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      linalg.yield %n : i32
    } -> tensor<2xi32>
    %b = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x1 : tensor<2xi32>) outs(%e : tensor<2xi32>) {
    ^bb0(%p: i32, %o: i32):
      %i = linalg.index 0 : index
      %j = arith.addi %i, %c2 : index
      %n = arith.index_cast %j : index to i32
      linalg.yield %n : i32
    } -> tensor<2xi32>
    %r = tensor.concat dim(0) %a, %b : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
    %d = linalg.generic {indexing_maps = [#c, #m], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<3xi32>) outs(%f : tensor<2x3xi32>) {
    ^bb0(%i: i32, %o: i32):
      linalg.yield %i : i32
    } -> tensor<2x3xi32>
    %s = tensor.concat dim(0) %d, %d : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
    return %r, %s : tensor<4xi32>, tensor<4x3xi32>
  }
  module @global {
    func.func @put_together(%x: tensor<4xi32>, %w: tensor<3xi32>) -> (tensor<4xi32>, tensor<4x3xi32>) {
      %e = tensor.empty() : tensor<4xi32>
      %f = tensor.empty() : tensor<4x3xi32>
      %a = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<4xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        linalg.yield %n : i32
      } -> tensor<4xi32>
      %d = linalg.generic {indexing_maps = [#c, #m], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<3xi32>) outs(%f : tensor<4x3xi32>) {
      ^bb0(%i: i32, %o: i32):
        linalg.yield %i : i32
      } -> tensor<4x3xi32>
      return %a, %d : tensor<4xi32>, tensor<4x3xi32>
    }
  }
}

// -----

// Two ranks exchange microbatches of seven elements, of which the last one is
// shorter: parts that are stacked are no tensor with another dimension.

// CHECK-LABEL: func.func @exchanged
module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @exchanged(%x: tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) -> (tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) {
    %c1 = arith.constant 1 : index
    %rank = weft.axis_index @mesh <{"b"}>
    %other = arith.subi %c1, %rank : index
    %y = weft.permute %x on @mesh <{"b"}> sources [1, 0] : (tensor<2xf32>) -> tensor<2xf32>
    %0 = tensor.expand_shape %x [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
    %1 = tensor.expand_shape %y [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
    %2 = tensor.concat dim(0) %0, %1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %3 = tensor.extract_slice %2[%other, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
    %4 = tensor.extract_slice %2[%rank, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
    %5 = weft.permute %4 on @mesh <{"b"}> sources [1, 0] : (tensor<2xf32>) -> tensor<2xf32>
    %6 = tensor.expand_shape %3 [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
    %7 = tensor.expand_shape %5 [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
    %8 = tensor.concat dim(0) %6, %7 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %9 = tensor.extract_slice %8[%other, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
    return %9 : tensor<2xf32>
  }
  module @global {
    func.func @exchanged(%x: tensor<7xf32>) -> tensor<7xf32> {
      return %x : tensor<7xf32>
    }
  }
}
