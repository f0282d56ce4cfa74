// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A column that is cut is a row that is cut where ranks have one element each:
// the reshape between is no op there. What is padded is the row.

module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=8]>
  func.func @padded_row(%x: tensor<1x1xi32> {weft.global_type = tensor<7x1xi32>, weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>}) -> tensor<2x7xi32> {
    %zero = arith.constant 0 : i32
    %0 = tensor.pad %x low[1, 0] high[0, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i32
    } : tensor<1x1xi32> to tensor<2x1xi32>
    %1 = weft.all_gather %0 on @mesh <{"b"}> dims [1] : (tensor<2x1xi32>) -> tensor<2x8xi32>
    %2 = tensor.extract_slice %1[0, 0] [2, 7] [1, 1] : tensor<2x8xi32> to tensor<2x7xi32>
    return %2 : tensor<2x7xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @padded_row(%x: tensor<7x1xi32>) -> tensor<2x7xi32> {
      %zero = arith.constant 0 : i32
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<7x1xi32> into tensor<7xi32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 7] : tensor<7xi32> into tensor<1x7xi32>
      %2 = tensor.pad %1 low[1, 0] high[0, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : i32
      } : tensor<1x7xi32> to tensor<2x7xi32>
      return %2 : tensor<2x7xi32>
    }
  }
}

// -----

// A row that is padded elsewhere on each rank is another one.

module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=8]>
  func.func @padded_elsewhere(%x: tensor<1x1xi32> {weft.global_type = tensor<7x1xi32>, weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>}) -> tensor<2x7xi32> {
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{pads a dimension of size 7, of which a rank has 1 elements}}
    %0 = tensor.pad %x low[0, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i32
    } : tensor<1x1xi32> to tensor<2x1xi32>
    %1 = weft.all_gather %0 on @mesh <{"b"}> dims [1] : (tensor<2x1xi32>) -> tensor<2x8xi32>
    %2 = tensor.extract_slice %1[0, 0] [2, 7] [1, 1] : tensor<2x8xi32> to tensor<2x7xi32>
    return %2 : tensor<2x7xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @padded_elsewhere(%x: tensor<7x1xi32>) -> tensor<2x7xi32> {
      %zero = arith.constant 0 : i32
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<7x1xi32> into tensor<7xi32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 7] : tensor<7xi32> into tensor<1x7xi32>
      %2 = tensor.pad %1 low[1, 0] high[0, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : i32
      } : tensor<1x7xi32> to tensor<2x7xi32>
      return %2 : tensor<2x7xi32>
    }
  }
}

// -----

// A pad for ranks that the one-rank program happens to make as well, for
// something else. What ranks have is seen both ways, also after a slice and a
// reshape.

#id = affine_map<(i, j) -> (i, j)>
#all = affine_map<(i, j, k) -> (i, j, k)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @two_pads(%x: tensor<3x6xi8>, %y: tensor<1x2x6xi8> {weft.global_type = tensor<1x3x6xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}, {}]>})
      -> (tensor<1x2x6xi8> {weft.global_type = tensor<1x3x6xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}, {}]>}, tensor<4x6xi8>) {
    %zero = arith.constant 0 : i8
    %two = arith.constant 2 : index
    %b = weft.axis_index @mesh <{"b"}>
    %begin = arith.muli %b, %two : index
    %0 = tensor.pad %x low[0, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i8
    } : tensor<3x6xi8> to tensor<4x6xi8>
    %1 = tensor.extract_slice %0[%begin, 0] [2, 6] [1, 1] : tensor<4x6xi8> to tensor<2x6xi8>
    %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 2, 6] : tensor<2x6xi8> into tensor<1x2x6xi8>
    %e = tensor.empty() : tensor<1x2x6xi8>
    %3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %2 : tensor<1x2x6xi8>, tensor<1x2x6xi8>) outs(%e : tensor<1x2x6xi8>) {
    ^bb0(%p: i8, %q: i8, %o: i8):
      %r = arith.ori %p, %q : i8
      linalg.yield %r : i8
    } -> tensor<1x2x6xi8>
    %4 = tensor.pad %x low[0, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i8
    } : tensor<3x6xi8> to tensor<4x6xi8>
    return %3, %4 : tensor<1x2x6xi8>, tensor<4x6xi8>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @two_pads(%x: tensor<3x6xi8>, %y: tensor<1x3x6xi8>) -> (tensor<1x3x6xi8>, tensor<4x6xi8>) {
      %zero = arith.constant 0 : i8
      %2 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 3, 6] : tensor<3x6xi8> into tensor<1x3x6xi8>
      %e = tensor.empty() : tensor<1x3x6xi8>
      %3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %2 : tensor<1x3x6xi8>, tensor<1x3x6xi8>) outs(%e : tensor<1x3x6xi8>) {
      ^bb0(%p: i8, %q: i8, %o: i8):
        %r = arith.ori %p, %q : i8
        linalg.yield %r : i8
      } -> tensor<1x3x6xi8>
      %4 = tensor.pad %x low[0, 0] high[1, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : i8
      } : tensor<3x6xi8> to tensor<4x6xi8>
      return %3, %4 : tensor<1x3x6xi8>, tensor<4x6xi8>
    }
  }
}

// -----

// The same, but ranks take parts of each other.

#all = affine_map<(i, j, k) -> (i, j, k)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @other_parts(%x: tensor<3x6xi8>, %y: tensor<1x2x6xi8> {weft.global_type = tensor<1x3x6xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}, {}]>})
      -> (tensor<1x2x6xi8> {weft.global_type = tensor<1x3x6xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}, {}]>}, tensor<4x6xi8>) {
    %zero = arith.constant 0 : i8
    %two = arith.constant 2 : index
    %b = weft.axis_index @mesh <{"b"}>
    %own = arith.muli %b, %two : index
    %begin = arith.subi %two, %own : index
    %0 = tensor.pad %x low[0, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i8
    } : tensor<3x6xi8> to tensor<4x6xi8>
    %1 = tensor.extract_slice %0[%begin, 0] [2, 6] [1, 1] : tensor<4x6xi8> to tensor<2x6xi8>
    %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 2, 6] : tensor<2x6xi8> into tensor<1x2x6xi8>
    %e = tensor.empty() : tensor<1x2x6xi8>
    // expected-error @+1 {{combines dimensions}}
    %3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %2 : tensor<1x2x6xi8>, tensor<1x2x6xi8>) outs(%e : tensor<1x2x6xi8>) {
    ^bb0(%p: i8, %q: i8, %o: i8):
      %r = arith.ori %p, %q : i8
      linalg.yield %r : i8
    } -> tensor<1x2x6xi8>
    %4 = tensor.pad %x low[0, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i8
    } : tensor<3x6xi8> to tensor<4x6xi8>
    return %3, %4 : tensor<1x2x6xi8>, tensor<4x6xi8>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @other_parts(%x: tensor<3x6xi8>, %y: tensor<1x3x6xi8>) -> (tensor<1x3x6xi8>, tensor<4x6xi8>) {
      %zero = arith.constant 0 : i8
      %2 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 3, 6] : tensor<3x6xi8> into tensor<1x3x6xi8>
      %e = tensor.empty() : tensor<1x3x6xi8>
      %3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %2 : tensor<1x3x6xi8>, tensor<1x3x6xi8>) outs(%e : tensor<1x3x6xi8>) {
      ^bb0(%p: i8, %q: i8, %o: i8):
        %r = arith.ori %p, %q : i8
        linalg.yield %r : i8
      } -> tensor<1x3x6xi8>
      %4 = tensor.pad %x low[0, 0] high[1, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : i8
      } : tensor<3x6xi8> to tensor<4x6xi8>
      return %3, %4 : tensor<1x3x6xi8>, tensor<4x6xi8>
    }
  }
}

// -----

// What is made of indices has any size, but each of its elements is another
// one, also where dimensions became one: ranks have parts of each other.

#id = affine_map<(i, j) -> (i, j)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @exchanged() -> (tensor<3xi32> {weft.global_type = tensor<6xi32>, weft.sharding = #weft.sharding<@mesh, [{"b"}]>}) {
    %c3 = arith.constant 3 : index
    %b = weft.axis_index @mesh <{"b"}>
    %c1 = arith.constant 1 : index
    %o = arith.subi %c1, %b : index
    %off = arith.muli %o, %c3 : index
    %e = tensor.empty() : tensor<3x2xi32>
    %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x2xi32>) {
    ^bb0(%out: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %p = arith.addi %i, %off : index
      %r = arith.index_cast %p : index to i32
      %q = arith.index_cast %j : index to i32
      %s = arith.addi %r, %q : i32
      linalg.yield %s : i32
    } -> tensor<3x2xi32>
    %1 = tensor.extract_slice %0[0, 0] [3, 1] [1, 1] : tensor<3x2xi32> to tensor<3x1xi32>
    %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<3x1xi32> into tensor<3xi32>
    // expected-error @+1 {{result #0 has dim 0 of size -1 in chunks [1, 0], expected size 6 in chunks [0, 1]}}
    return %2 : tensor<3xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @exchanged() -> tensor<6xi32> {
      %e = tensor.empty() : tensor<6x2xi32>
      %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x2xi32>) {
      ^bb0(%out: i32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %r = arith.index_cast %i : index to i32
        %q = arith.index_cast %j : index to i32
        %s = arith.addi %r, %q : i32
        linalg.yield %s : i32
      } -> tensor<6x2xi32>
      %1 = tensor.extract_slice %0[0, 0] [6, 1] [1, 1] : tensor<6x2xi32> to tensor<6x1xi32>
      %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<6x1xi32> into tensor<6xi32>
      return %2 : tensor<6xi32>
    }
  }
}

// -----

// The same, with ranks' own parts, of which every other element is taken.

#id = affine_map<(i, j) -> (i, j)>
module attributes {weft.invariance = #weft.invariance<axes = ["b"], leaves = 8>} {
  weft.mesh @mesh = <["b"=2]>
  func.func @every_other() -> tensor<3xi32> {
    %c3 = arith.constant 3 : index
    %b = weft.axis_index @mesh <{"b"}>
    %off = arith.muli %b, %c3 : index
    %e = tensor.empty() : tensor<3x2xi32>
    %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x2xi32>) {
    ^bb0(%out: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %p = arith.addi %i, %off : index
      %r = arith.index_cast %p : index to i32
      %q = arith.index_cast %j : index to i32
      %s = arith.addi %r, %q : i32
      linalg.yield %s : i32
    } -> tensor<3x2xi32>
    %1 = tensor.extract_slice %0[0, 0] [3, 1] [1, 1] : tensor<3x2xi32> to tensor<3x1xi32>
    %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<3x1xi32> into tensor<3xi32>
    %3 = weft.all_gather %2 on @mesh <{"b"}> dims [0] : (tensor<3xi32>) -> tensor<6xi32>
    %4 = tensor.extract_slice %3[0] [3] [2] : tensor<6xi32> to tensor<3xi32>
    return %4 : tensor<3xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["b"=1]>
    func.func @every_other() -> tensor<3xi32> {
      %e = tensor.empty() : tensor<6x2xi32>
      %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x2xi32>) {
      ^bb0(%out: i32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %r = arith.index_cast %i : index to i32
        %q = arith.index_cast %j : index to i32
        %s = arith.addi %r, %q : i32
        linalg.yield %s : i32
      } -> tensor<6x2xi32>
      %1 = tensor.extract_slice %0[0, 0] [6, 1] [1, 1] : tensor<6x2xi32> to tensor<6x1xi32>
      %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<6x1xi32> into tensor<6xi32>
      %4 = tensor.extract_slice %2[0] [3] [2] : tensor<6xi32> to tensor<3xi32>
      return %4 : tensor<3xi32>
    }
  }
}
