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

// -----

// Parts of a sum are padded as the one-rank program pads the sum, and then for
// ranks: of each part zeros are parts of zero.

#in = affine_map<(i, k) -> (i, k)>
#out = affine_map<(i, k) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["a", "b"], leaves = 8>} {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @padded_parts(%x: tensor<5x2xi8> {weft.global_type = tensor<5x4xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>})
      -> (tensor<4xi8> {weft.global_type = tensor<7xi8>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %zeros = arith.constant dense<0> : tensor<5xi8>
    %padding = arith.constant 0 : i8
    %four = arith.constant 4 : index
    %a = weft.axis_index @mesh <{"a"}>
    %begin = arith.muli %a, %four : index
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x2xi8>) outs(%zeros : tensor<5xi8>) {
    ^bb0(%p: i8, %o: i8):
      %r = arith.addi %o, %p : i8
      linalg.yield %r : i8
    } -> tensor<5xi8>
    %1 = tensor.pad %0 low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %padding : i8
    } : tensor<5xi8> to tensor<8xi8>
    %2 = tensor.extract_slice %1[%begin] [4] [1] : tensor<8xi8> to tensor<4xi8>
    %3 = weft.all_reduce sum %2 on @mesh <{"b"}> : (tensor<4xi8>) -> tensor<4xi8>
    return %3 : tensor<4xi8>
  }
  module @one_rank {
    weft.mesh @mesh = <["a"=1, "b"=1]>
    func.func @padded_parts(%x: tensor<5x4xi8>) -> tensor<7xi8> {
      %zeros = arith.constant dense<0> : tensor<5xi8>
      %padding = arith.constant 0 : i8
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x4xi8>) outs(%zeros : tensor<5xi8>) {
      ^bb0(%p: i8, %o: i8):
        %r = arith.addi %o, %p : i8
        linalg.yield %r : i8
      } -> tensor<5xi8>
      %1 = tensor.pad %0 low[0] high[2] {
      ^bb0(%i: index):
        tensor.yield %padding : i8
      } : tensor<5xi8> to tensor<7xi8>
      return %1 : tensor<7xi8>
    }
  }
}

// -----

// Ones would be added up as well.

#in = affine_map<(i, k) -> (i, k)>
#out = affine_map<(i, k) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["a", "b"], leaves = 8>} {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @padded_with_ones(%x: tensor<5x2xi8> {weft.global_type = tensor<5x4xi8>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>})
      -> (tensor<4xi8> {weft.global_type = tensor<7xi8>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %zeros = arith.constant dense<0> : tensor<5xi8>
    %padding = arith.constant 1 : i8
    %four = arith.constant 4 : index
    %a = weft.axis_index @mesh <{"a"}>
    %begin = arith.muli %a, %four : index
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x2xi8>) outs(%zeros : tensor<5xi8>) {
    ^bb0(%p: i8, %o: i8):
      %r = arith.addi %o, %p : i8
      linalg.yield %r : i8
    } -> tensor<5xi8>
    %1 = tensor.pad %0 low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %padding : i8
    } : tensor<5xi8> to tensor<8xi8>
    %2 = tensor.extract_slice %1[%begin] [4] [1] : tensor<8xi8> to tensor<4xi8>
    %3 = weft.all_reduce sum %2 on @mesh <{"b"}> : (tensor<4xi8>) -> tensor<4xi8>
    // expected-error @+1 {{result #0 has dim 0 of size 5 in chunks [0, 0, 1, 1], expected size 7 in chunks [0, 0, 1, 1]}}
    return %3 : tensor<4xi8>
  }
  module @one_rank {
    weft.mesh @mesh = <["a"=1, "b"=1]>
    func.func @padded_with_ones(%x: tensor<5x4xi8>) -> tensor<7xi8> {
      %zeros = arith.constant dense<0> : tensor<5xi8>
      %padding = arith.constant 1 : i8
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x4xi8>) outs(%zeros : tensor<5xi8>) {
      ^bb0(%p: i8, %o: i8):
        %r = arith.addi %o, %p : i8
        linalg.yield %r : i8
      } -> tensor<5xi8>
      %1 = tensor.pad %0 low[0] high[2] {
      ^bb0(%i: index):
        tensor.yield %padding : i8
      } : tensor<5xi8> to tensor<7xi8>
      return %1 : tensor<7xi8>
    }
  }
}
