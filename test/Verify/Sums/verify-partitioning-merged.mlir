// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Two movements of the global program that are one op on a rank.

// The last two of five elements, of which each rank has one.

// CHECK-LABEL: func.func @rest
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @rest(%x: tensor<5xf32>) -> (tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %n = arith.constant 3 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.addi %r, %n : index
    %0 = tensor.extract_slice %x[%b] [1] [1] : tensor<5xf32> to tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  module @global {
    func.func @rest(%x: tensor<5xf32>) -> tensor<2xf32> {
      %0 = tensor.extract_slice %x[3] [2] [1] : tensor<5xf32> to tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// One row of five, which is a chunk of them as well.

// CHECK-LABEL: func.func @one_row
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @one_row(%x: tensor<5x2xf32> {weft.global_type = tensor<5x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> (tensor<1x2xf32> {weft.global_type = tensor<1x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %0 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<5x2xf32> to tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  module @global {
    func.func @one_row(%x: tensor<5x4xf32>) -> tensor<1x4xf32> {
      %0 = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
      return %0 : tensor<1x4xf32>
    }
  }
}

// -----

// Each second element, of which each rank has two.

// CHECK-LABEL: func.func @each_second
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @each_second(%x: tensor<9xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %one = arith.constant 1 : index
    %n = arith.constant 4 : index
    %r = weft.axis_index @mesh <{"t"}>
    %s = arith.muli %r, %n : index
    %b = arith.addi %s, %one : index
    %0 = tensor.extract_slice %x[%b] [2] [2] : tensor<9xf32> to tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @each_second(%x: tensor<9xf32>) -> tensor<4xf32> {
      %0 = tensor.extract_slice %x[1] [4] [2] : tensor<9xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// One element before three, and two after the four for equal parts.

// CHECK-LABEL: func.func @padded_before
module {
  weft.mesh @mesh = <["t"=3]>
  func.func @padded_before(%x: tensor<3xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %c = arith.constant 1.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[1] high[2] {
    ^bb0(%i: index):
      tensor.yield %c : f32
    } : tensor<3xf32> to tensor<6xf32>
    %1 = tensor.extract_slice %0[%b] [2] [1] : tensor<6xf32> to tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @padded_before(%x: tensor<3xf32>) -> tensor<4xf32> {
      %c = arith.constant 1.0 : f32
      %0 = tensor.pad %x low[1] high[0] {
      ^bb0(%i: index):
        tensor.yield %c : f32
      } : tensor<3xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Two after five, of which the last is the only one of the last rank, and one
// more.

// CHECK-LABEL: func.func @padded_after
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @padded_after(%x: tensor<5xf32>) -> (tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %c = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %c : f32
    } : tensor<5xf32> to tensor<8xf32>
    %1 = tensor.extract_slice %0[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @padded_after(%x: tensor<5xf32>) -> tensor<7xf32> {
      %c = arith.constant 0.0 : f32
      %0 = tensor.pad %x low[0] high[2] {
      ^bb0(%i: index):
        tensor.yield %c : f32
      } : tensor<5xf32> to tensor<7xf32>
      return %0 : tensor<7xf32>
    }
  }
}

// -----

// Two rows of seven in parts of two, which two axes cut: gathered along both
// dimensions at once, a rank has columns that do not lie next to each other.

// CHECK-LABEL: func.func @gathered_twice
module {
  weft.mesh @mesh = <["a"=4, "b"=2]>
  func.func @gathered_twice(%x: tensor<1x2xf32> {weft.global_type = tensor<2x7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a":(1)2}, {"b", "a":(2)2}]>}) -> (tensor<2x4xf32> {weft.global_type = tensor<2x7xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>}) {
    %0 = tensor.collapse_shape %x [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    %1 = weft.all_gather %0 on @mesh <{"a"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
    %2 = tensor.expand_shape %1 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
  module @global {
    func.func @gathered_twice(%x: tensor<2x7xf32>) -> tensor<2x7xf32> {
      return %x : tensor<2x7xf32>
    }
  }
}

// -----

// Rows that are made long enough for equal parts, before they are put below
// each other.

// CHECK-LABEL: func.func @padded_rows
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @padded_rows(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>) -> (tensor<2x2xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %c = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[0, 0] high[0, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x3xf32> to tensor<1x4xf32>
    %1 = tensor.pad %y low[0, 0] high[0, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x3xf32> to tensor<1x4xf32>
    %2 = tensor.concat dim(0) %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %3 = tensor.extract_slice %2[0, %b] [2, 2] [1, 1] : tensor<2x4xf32> to tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @padded_rows(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xf32> {
      %0 = tensor.concat dim(0) %x, %y : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
  }
}

// -----

// A pad for equal parts that is the global program's pad, too, by chance: what
// it was for is known only where it is cut again. One row of four ranks is that
// of the first one.

// CHECK-LABEL: func.func @padded_twice
module {
  weft.mesh @mesh = <["d"=4]>
  func.func @padded_twice(%x: tensor<1x5xf32> {weft.global_type = tensor<1x5xf32>, weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<1x8xf32> {weft.global_type = tensor<1x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %c = arith.constant 0.0 : f32
    %0 = tensor.pad %x low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    %1 = weft.all_to_all %0 on @mesh <{"d"}> split [1] concat [0] : (tensor<1x8xf32>) -> tensor<4x2xf32>
    %2 = tensor.extract_slice %1[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
    %3 = weft.all_gather %2 on @mesh <{"d"}> dims [1] : (tensor<1x2xf32>) -> tensor<1x8xf32>
    %4 = tensor.extract_slice %3[0, 0] [1, 5] [1, 1] : tensor<1x8xf32> to tensor<1x5xf32>
    %5 = tensor.pad %4 low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    return %5 : tensor<1x8xf32>
  }
  module @global {
    func.func @padded_twice(%x: tensor<1x5xf32>) -> tensor<1x8xf32> {
      %c = arith.constant 0.0 : f32
      %0 = tensor.pad %x low[0, 0] high[0, 3] {
      ^bb0(%i: index, %j: index):
        tensor.yield %c : f32
      } : tensor<1x5xf32> to tensor<1x8xf32>
      return %0 : tensor<1x8xf32>
    }
  }
}

// -----

// A column of one number, with a column of zeros behind it and, in the same op, rows that make three of them equal parts.
// Of how many rows the column has nothing else says.

// CHECK-LABEL: func.func @a_column_that_is_padded_twice
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @a_column_that_is_padded_twice(%c: tensor<f32>) -> (tensor<2x2xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
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
    %2 = tensor.pad %1 low[0, 0] high[1, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<3x1xf32> to tensor<4x2xf32>
    %3 = tensor.extract_slice %2[%begin, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @a_column_that_is_padded_twice(%c: tensor<f32>) -> tensor<3x2xf32> {
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

// Rows and columns that are gathered as one, where a row does not change along it.

// CHECK-LABEL: func.func @rows_that_do_not_change
module {
  weft.mesh @mesh = <["z"=2, "x"=2]>
  func.func @rows_that_do_not_change(%v: tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}]>}) -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %e = tensor.empty() : tensor<1x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<1xf32>) outs(%e : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    %2 = weft.all_gather %1 on @mesh <{"z", "x"}> dims [0] : (tensor<1xf32>) -> tensor<4xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @rows_that_do_not_change(%v: tensor<2xf32>) -> tensor<2x2xf32> {
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

// Of rows that are alike each rank has a part, which are gathered as one with the columns.

// CHECK-LABEL: func.func @rows_that_are_alike
module {
  weft.mesh @mesh = <["x"=2, "z"=2]>
  func.func @rows_that_are_alike(%v: tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}]>}) -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %e = tensor.empty() : tensor<1x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<1xf32>) outs(%e : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    %2 = weft.all_gather %1 on @mesh <{"x", "z"}> dims [0] : (tensor<1xf32>) -> tensor<4xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @rows_that_are_alike(%v: tensor<2xf32>) -> tensor<2x2xf32> {
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
