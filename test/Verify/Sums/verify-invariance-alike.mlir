// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A table with equal rows: any part of it is like any other, but each rank has
// one part, from which it looks up. The last part ends before its last row.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#all = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @equal_rows(%x: tensor<4xi32> {weft.global_type = tensor<7xi32>, weft.sharding = #weft.sharding<@mesh, [{"b"}]>}, %at: tensor<5xi32>) -> (tensor<5xi32>, tensor<4xi32> {weft.global_type = tensor<7xi32>, weft.sharding = #weft.sharding<@mesh, [{"b"}]>}) {
    %five = arith.constant dense<5> : tensor<4xi32>
    %four = arith.constant 4 : index
    %seven = arith.constant 7 : i32
    %missing = arith.constant -1 : i32
    %b = weft.axis_index @mesh <{"b"}>
    %base = arith.muli %b, %four : index
    %e = tensor.empty() : tensor<5xi32>
    %found = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : tensor<5xi32>) outs(%e : tensor<5xi32>) {
    ^bb0(%p: i32, %o: i32):
      %is = arith.cmpi slt, %p, %seven : i32
      %r = arith.select %is, %p, %missing : i32
      linalg.yield %r : i32
    } -> tensor<5xi32>
    %0 = weft.take %five, %found base %base {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<4xi32>, tensor<5xi32> -> tensor<5xi32>
    %1 = weft.all_reduce sum %0 on @mesh <{"b"}> : (tensor<5xi32>) -> tensor<5xi32>
    return %1, %x : tensor<5xi32>, tensor<4xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @equal_rows(%x: tensor<7xi32>, %at: tensor<5xi32>) -> (tensor<5xi32>, tensor<7xi32>) {
      %five = arith.constant dense<5> : tensor<7xi32>
      %0 = weft.take %five, %at {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<7xi32>, tensor<5xi32> -> tensor<5xi32>
      return %0, %x : tensor<5xi32>, tensor<7xi32>
    }
  }
}

// -----

// Both look up from the same rows: what is found there is counted twice.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @same_rows(%at: tensor<5xi32>) -> tensor<5xi32> {
    %five = arith.constant dense<5> : tensor<4xi32>
    %base = arith.constant 4 : index
    %0 = weft.take %five, %at base %base {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<4xi32>, tensor<5xi32> -> tensor<5xi32>
    // expected-error @+1 {{combines parts 1, 1 of 2 of take}}
    %1 = weft.all_reduce sum %0 on @mesh <{"b"}> : (tensor<5xi32>) -> tensor<5xi32>
    return %1 : tensor<5xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @same_rows(%at: tensor<5xi32>) -> tensor<5xi32> {
      %five = arith.constant dense<5> : tensor<8xi32>
      %0 = weft.take %five, %at {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<8xi32>, tensor<5xi32> -> tensor<5xi32>
      return %0 : tensor<5xi32>
    }
  }
}

// -----

// A row past the end of the one-rank program's table is found, too.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @past_the_end(%at: tensor<5xi32>) -> tensor<5xi32> {
    %five = arith.constant dense<5> : tensor<4xi32>
    %four = arith.constant 4 : index
    %b = weft.axis_index @mesh <{"b"}>
    %base = arith.muli %b, %four : index
    // expected-error @+1 {{makes result #0 depend on the mesh: take 5xi32 ((d0) -> () (d0) -> (d0) axis 0 of 8), but on one rank take 5xi32 ((d0) -> () (d0) -> (d0) axis 0 of 7)}}
    %0 = weft.take %five, %at base %base {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<4xi32>, tensor<5xi32> -> tensor<5xi32>
    %1 = weft.all_reduce sum %0 on @mesh <{"b"}> : (tensor<5xi32>) -> tensor<5xi32>
    return %1 : tensor<5xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @past_the_end(%at: tensor<5xi32>) -> tensor<5xi32> {
      %five = arith.constant dense<5> : tensor<7xi32>
      // expected-note @+1 {{this op of the one-rank program makes take}}
      %0 = weft.take %five, %at {axis = 0 : i64, table_map = #none, index_map = #id} : tensor<7xi32>, tensor<5xi32> -> tensor<5xi32>
      return %0 : tensor<5xi32>
    }
  }
}

// -----

// What is the same along a dimension has any size there, and a known one where
// it was padded for ranks. A reshape of another dimension passes it on.

#all = affine_map<(i, j, k) -> (i, j, k)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @passed_on() -> tensor<5x7x2x2xi32> {
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : index
    %b = weft.axis_index @mesh <{"b"}>
    %begin = arith.muli %b, %four : index
    %e = tensor.empty() : tensor<5x7x4xi32>
    %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<5x7x4xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %k = linalg.index 2 : index
      %s = arith.addi %i, %k : index
      %r = arith.index_cast %s : index to i32
      linalg.yield %r : i32
    } -> tensor<5x7x4xi32>
    %1 = tensor.pad %0 low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : i32
    } : tensor<5x7x4xi32> to tensor<5x8x4xi32>
    %2 = tensor.extract_slice %1[0, %begin, 0] [5, 4, 4] [1, 1, 1] : tensor<5x8x4xi32> to tensor<5x4x4xi32>
    %3 = weft.all_gather %2 on @mesh <{"b"}> dims [1] : (tensor<5x4x4xi32>) -> tensor<5x8x4xi32>
    %4 = tensor.extract_slice %3[0, 0, 0] [5, 7, 4] [1, 1, 1] : tensor<5x8x4xi32> to tensor<5x7x4xi32>
    %5 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [5, 7, 2, 2] : tensor<5x7x4xi32> into tensor<5x7x2x2xi32>
    return %5 : tensor<5x7x2x2xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @passed_on() -> tensor<5x7x2x2xi32> {
      %e = tensor.empty() : tensor<5x7x4xi32>
      %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<5x7x4xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %k = linalg.index 2 : index
        %s = arith.addi %i, %k : index
        %r = arith.index_cast %s : index to i32
        linalg.yield %r : i32
      } -> tensor<5x7x4xi32>
      %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [5, 7, 2, 2] : tensor<5x7x4xi32> into tensor<5x7x2x2xi32>
      return %1 : tensor<5x7x2x2xi32>
    }
  }
}

// -----

// In other rows there are other elements.

#all = affine_map<(i, j, k) -> (i, j, k)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @other_rows() -> tensor<5x7x1x2xi32> {
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : index
    %b = weft.axis_index @mesh <{"b"}>
    %begin = arith.muli %b, %four : index
    %e = tensor.empty() : tensor<5x7x4xi32>
    %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<5x7x4xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %k = linalg.index 2 : index
      %s = arith.addi %i, %k : index
      %r = arith.index_cast %s : index to i32
      linalg.yield %r : i32
    } -> tensor<5x7x4xi32>
    %1 = tensor.pad %0 low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : i32
    } : tensor<5x7x4xi32> to tensor<5x8x4xi32>
    %2 = tensor.extract_slice %1[0, %begin, 0] [5, 4, 4] [1, 1, 1] : tensor<5x8x4xi32> to tensor<5x4x4xi32>
    %3 = weft.all_gather %2 on @mesh <{"b"}> dims [1] : (tensor<5x4x4xi32>) -> tensor<5x8x4xi32>
    %4 = tensor.extract_slice %3[0, 0, 0] [5, 7, 4] [1, 1, 1] : tensor<5x8x4xi32> to tensor<5x7x4xi32>
    %5 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [5, 7, 1, 4] : tensor<5x7x4xi32> into tensor<5x7x1x4xi32>
    %6 = tensor.extract_slice %5[0, 0, 0, 0] [5, 7, 1, 2] [1, 1, 1, 1] : tensor<5x7x1x4xi32> to tensor<5x7x1x2xi32>
    // expected-error @+1 {{result #0 has dim 3 of size 4 in chunks [0, 0], expected size 2 in chunks [0, 0]}}
    return %6 : tensor<5x7x1x2xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @other_rows() -> tensor<5x7x1x2xi32> {
      %e = tensor.empty() : tensor<5x7x4xi32>
      %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<5x7x4xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %k = linalg.index 2 : index
        %s = arith.addi %i, %k : index
        %r = arith.index_cast %s : index to i32
        linalg.yield %r : i32
      } -> tensor<5x7x4xi32>
      %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [5, 7, 2, 2] : tensor<5x7x4xi32> into tensor<5x7x2x2xi32>
      %2 = tensor.extract_slice %1[0, 0, 0, 0] [5, 7, 1, 2] [1, 1, 1, 1] : tensor<5x7x2x2xi32> to tensor<5x7x1x2xi32>
      return %2 : tensor<5x7x1x2xi32>
    }
  }
}
