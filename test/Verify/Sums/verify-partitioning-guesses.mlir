// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// An index that may be one of two loops, in two ops: what was tried for the first
// is nothing that is known for the second.

module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @f() -> (tensor<1x1xi32> {weft.global_type = tensor<1x2xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}, tensor<1x1xi32> {weft.global_type = tensor<1x2xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>}) {
    %0 = tensor.empty() : tensor<1x1xi32>
    %a = weft.axis_index @mesh <{"a"}>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<1x1xi32>) {
    ^bb0(%out: i32):
      %i = arith.index_cast %a : index to i32
      linalg.yield %i : i32
    } -> tensor<1x1xi32>
    %b = weft.axis_index @mesh <{"b"}>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<1x1xi32>) {
    ^bb0(%out: i32):
      %i = arith.index_cast %b : index to i32
      linalg.yield %i : i32
    } -> tensor<1x1xi32>
    return %1, %2 : tensor<1x1xi32>, tensor<1x1xi32>
  }
  module @global {
    func.func @f() -> (tensor<1x2xi32>, tensor<1x2xi32>) {
      %0 = tensor.empty() : tensor<1x2xi32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<1x2xi32>) {
      ^bb0(%out: i32):
        %index = linalg.index 1 : index
        %i = arith.index_cast %index : index to i32
        linalg.yield %i : i32
      } -> tensor<1x2xi32>
      return %1, %1 : tensor<1x2xi32>, tensor<1x2xi32>
    }
  }
}

// -----

// Counts of two numbers on three ranks: a mask says how many there are.

module {
  weft.mesh @mesh = <["a"=3]>
  func.func @f(%n: tensor<8xi32>) -> tensor<i32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0 : i32
    %zeros = arith.constant dense<0> : tensor<1xi32>
    %ones = arith.constant dense<1> : tensor<8xi32>
    %a = weft.axis_index @mesh <{"a"}>
    %0 = weft.scatter_add %zeros, %n, %ones base %a {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<1xi32>, tensor<8xi32>, tensor<8xi32>
    %left = arith.subi %c2, %a : index
    %init = arith.constant dense<0> : tensor<i32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<1xi32>) outs(%init : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %m = arith.cmpi sgt, %left, %c0 : index
      %s = arith.select %m, %in, %zero : i32
      %sum = arith.addi %out, %s : i32
      linalg.yield %sum : i32
    } -> tensor<i32>
    %2 = weft.all_reduce sum %1 on @mesh <{"a"}> : (tensor<i32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
  module @global {
    func.func @f(%n: tensor<8xi32>) -> tensor<i32> {
      %zeros = arith.constant dense<0> : tensor<2xi32>
      %ones = arith.constant dense<1> : tensor<8xi32>
      %0 = weft.scatter_add %zeros, %n, %ones {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<2xi32>, tensor<8xi32>, tensor<8xi32>
      %init = arith.constant dense<0> : tensor<i32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<2xi32>) outs(%init : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %sum = arith.addi %out, %in : i32
        linalg.yield %sum : i32
      } -> tensor<i32>
      return %1 : tensor<i32>
    }
  }
}

// -----

// A table of rows that are repeated: a rank has any that it looks up from.

module {
  weft.mesh @mesh = <["a"=2]>
  func.func @f(%x: tensor<2x3xi32>, %n: tensor<5xi32>) -> tensor<5x3xi32> {
    %rows = arith.constant 2 : index
    %a = weft.axis_index @mesh <{"a"}>
    %base = arith.muli %a, %rows : index
    %0 = tensor.empty() : tensor<1x2x3xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%0 : tensor<1x2x3xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x2x3xi32>
    %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x2x3xi32> into tensor<2x3xi32>
    %3 = weft.take %2, %n base %base {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0)>, table_map = affine_map<(d0, d1) -> (d1)>} : tensor<2x3xi32>, tensor<5xi32> -> tensor<5x3xi32>
    %4 = weft.all_reduce sum %3 on @mesh <{"a"}> : (tensor<5x3xi32>) -> tensor<5x3xi32>
    return %4 : tensor<5x3xi32>
  }
  module @global {
    func.func @f(%x: tensor<2x3xi32>, %n: tensor<5xi32>) -> tensor<5x3xi32> {
      %0 = tensor.empty() : tensor<2x2x3xi32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%0 : tensor<2x2x3xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<2x2x3xi32>
      %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<2x2x3xi32> into tensor<4x3xi32>
      %3 = weft.take %2, %n {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0)>, table_map = affine_map<(d0, d1) -> (d1)>} : tensor<4x3xi32>, tensor<5xi32> -> tensor<5x3xi32>
      return %3 : tensor<5x3xi32>
    }
  }
}

// -----

// Parts of three that ranks compute one after the other: neither the even nor
// the odd ones say how many there are, but what the global program sums does.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
module {
  weft.mesh @mesh = <["a"=2]>
  func.func @f() -> tensor<i32> {
    %zero = arith.constant dense<0> : tensor<i32>
    %c6 = arith.constant 6 : index
    %a = weft.axis_index @mesh <{"a"}>
    %begin = arith.muli %a, %c6 : index
    %e = tensor.empty() : tensor<6xi32>
    %0 = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<6xi32>) {
    ^bb0(%out: i32):
      %index = linalg.index 0 : index
      %place = arith.addi %index, %begin : index
      %i = arith.index_cast %place : index to i32
      linalg.yield %i : i32
    } -> tensor<6xi32>
    %even = tensor.extract_slice %0[0] [3] [1] : tensor<6xi32> to tensor<3xi32>
    %odd = tensor.extract_slice %0[3] [3] [1] : tensor<6xi32> to tensor<3xi32>
    %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%even : tensor<3xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %sum = arith.addi %out, %in : i32
      linalg.yield %sum : i32
    } -> tensor<i32>
    %2 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%odd : tensor<3xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %sum = arith.addi %out, %in : i32
      linalg.yield %sum : i32
    } -> tensor<i32>
    %3 = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%1, %2 : tensor<i32>, tensor<i32>) outs(%zero : tensor<i32>) {
    ^bb0(%in: i32, %other: i32, %out: i32):
      %sum = arith.addi %in, %other : i32
      linalg.yield %sum : i32
    } -> tensor<i32>
    %4 = weft.all_reduce sum %3 on @mesh <{"a"}> : (tensor<i32>) -> tensor<i32>
    return %4 : tensor<i32>
  }
  module @global {
    func.func @f() -> tensor<i32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %e = tensor.empty() : tensor<12xi32>
      %0 = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<12xi32>) {
      ^bb0(%out: i32):
        %index = linalg.index 0 : index
        %i = arith.index_cast %index : index to i32
        linalg.yield %i : i32
      } -> tensor<12xi32>
      %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%0 : tensor<12xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %sum = arith.addi %out, %in : i32
        linalg.yield %sum : i32
      } -> tensor<i32>
      return %1 : tensor<i32>
    }
  }
}

// -----

// What is repeated was padded from a size that was guessed, 9, to be cut in
// parts. The mask says that it ends before.

module {
  weft.mesh @mesh = <["a"=6]>
  func.func @guess_ends_at_mask(%v: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %zeros = arith.constant dense<0.0> : tensor<f32>
    %c2 = arith.constant 2 : index
    %n = arith.constant 8 : index
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %c2 : index
    %e9 = tensor.empty() : tensor<9xf32>
    %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e9 : tensor<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<9xf32>
    %padded = tensor.pad %rows low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<9xf32> to tensor<12xf32>
    %mine = tensor.extract_slice %padded[%b] [2] [1] : tensor<12xf32> to tensor<2xf32>
    %left = arith.subi %n, %b : index
    %e2 = tensor.empty() : tensor<2xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%mine : tensor<2xf32>) outs(%e2 : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %c = arith.cmpi slt, %i, %left : index
      %s = arith.select %c, %in, %zero : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%m : tensor<2xf32>) outs(%zeros : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %r = weft.all_reduce sum %p on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @guess_ends_at_mask(%v: tensor<f32>) -> tensor<f32> {
      %zeros = arith.constant dense<0.0> : tensor<f32>
      %e8 = tensor.empty() : tensor<8xf32>
      %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e8 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%rows : tensor<8xf32>) outs(%zeros : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
  }
}
