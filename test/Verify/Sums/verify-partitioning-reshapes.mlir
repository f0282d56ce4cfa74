// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Reshapes that are no ops on a rank, and so stand in the global program only.

// One element of two dimensions each is one of one dimension.

// CHECK-LABEL: func.func @result
module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @result(%a: tensor<1x1x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) {
    return %a : tensor<1x1x6xf32>
  }
  module @global {
    func.func @result(%a: tensor<2x2x6xf32>) -> tensor<4x1x6xf32> {
      %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      return %1 : tensor<4x1x6xf32>
    }
  }
}

// -----

// An op reads what is reshaped, and a result that is not.

// CHECK-LABEL: func.func @computed
module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @computed(%a: tensor<1x1x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}, tensor<1x1x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
    %e0 = tensor.empty() : tensor<1x1x6xf32>
    %0 = linalg.tanh ins(%a : tensor<1x1x6xf32>) outs(%e0 : tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
    %e1 = tensor.empty() : tensor<1x1x6xf32>
    %1 = linalg.exp ins(%a : tensor<1x1x6xf32>) outs(%e1 : tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
    return %0, %1 : tensor<1x1x6xf32>, tensor<1x1x6xf32>
  }
  module @global {
    func.func @computed(%a: tensor<2x2x6xf32>) -> (tensor<4x1x6xf32>, tensor<2x2x6xf32>) {
      %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      %e2 = tensor.empty() : tensor<4x1x6xf32>
      %2 = linalg.tanh ins(%1 : tensor<4x1x6xf32>) outs(%e2 : tensor<4x1x6xf32>) -> tensor<4x1x6xf32>
      %e3 = tensor.empty() : tensor<2x2x6xf32>
      %3 = linalg.exp ins(%a : tensor<2x2x6xf32>) outs(%e3 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
      return %2, %3 : tensor<4x1x6xf32>, tensor<2x2x6xf32>
    }
  }
}

// -----

// Each of two rows twice, on pairs of ranks: whichever of a pair one is.

// CHECK-LABEL: func.func @repeated
module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @repeated(%a: tensor<1x6xf32> {weft.global_type = tensor<2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<1x6xf32>) outs(%e : tensor<1x1x6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x1x6xf32>
    return %0 : tensor<1x1x6xf32>
  }
  module @global {
    func.func @repeated(%a: tensor<2x6xf32>) -> tensor<4x1x6xf32> {
      %e = tensor.empty() : tensor<2x2x6xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x6xf32>) outs(%e : tensor<2x2x6xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x2x6xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
      %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<4x1x6xf32>
      return %2 : tensor<4x1x6xf32>
    }
  }
}

// -----

// Two shapes of one tensor, and an op that reads it as it is and as one of them.

// CHECK-LABEL: func.func @both
module {
  weft.mesh @mesh = <["x"=4, "y"=2]>
  func.func @both(%a: tensor<1x1x1xf32> {weft.global_type = tensor<1x8x1xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"x", "y"}, {}]>}) -> (tensor<1x1x1xf32> {weft.global_type = tensor<1x8x1xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"x", "y"}, {}]>}, tensor<1x1x1xf32> {weft.global_type = tensor<1x4x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {"y"}]>}) {
    %e = tensor.empty() : tensor<1x1x1xf32>
    %0 = linalg.exp ins(%a : tensor<1x1x1xf32>) outs(%e : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %1 = linalg.add ins(%0, %a : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%e : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %2 = linalg.exp ins(%1 : tensor<1x1x1xf32>) outs(%e : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    return %1, %2 : tensor<1x1x1xf32>, tensor<1x1x1xf32>
  }
  module @global {
    func.func @both(%a: tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x4x2xf32>) {
      %0 = tensor.collapse_shape %a [[0, 1, 2]] : tensor<1x8x1xf32> into tensor<8xf32>
      %1 = tensor.expand_shape %0 [[0, 1, 2]] output_shape [2, 2, 2] : tensor<8xf32> into tensor<2x2x2xf32>
      %e1 = tensor.empty() : tensor<2x2x2xf32>
      %2 = linalg.exp ins(%1 : tensor<2x2x2xf32>) outs(%e1 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
      %3 = tensor.collapse_shape %2 [[0, 1, 2]] : tensor<2x2x2xf32> into tensor<8xf32>
      %4 = tensor.expand_shape %3 [[0, 1, 2]] output_shape [1, 8, 1] : tensor<8xf32> into tensor<1x8x1xf32>
      %e2 = tensor.empty() : tensor<1x8x1xf32>
      %5 = linalg.add ins(%4, %a : tensor<1x8x1xf32>, tensor<1x8x1xf32>) outs(%e2 : tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
      %6 = tensor.collapse_shape %5 [[0, 1, 2]] : tensor<1x8x1xf32> into tensor<8xf32>
      %7 = tensor.expand_shape %6 [[0, 1, 2]] output_shape [1, 4, 2] : tensor<8xf32> into tensor<1x4x2xf32>
      %e3 = tensor.empty() : tensor<1x4x2xf32>
      %8 = linalg.exp ins(%7 : tensor<1x4x2xf32>) outs(%e3 : tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
      return %5, %8 : tensor<1x8x1xf32>, tensor<1x4x2xf32>
    }
  }
}

// -----

// A dimension of one element that goes to the other side of one that is cut
// unequally: no op on a rank.

module {
  weft.mesh @mesh = <["a"=5]>
  func.func @f(%y: tensor<1x1x2xf32> {weft.global_type = tensor<3x1x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}, {}]>}) -> (tensor<2x1x2xf32> {weft.global_type = tensor<2x3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"a"}, {}]>}) {
    %0 = tensor.concat dim(0) %y, %y : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<2x1x2xf32>
    return %0 : tensor<2x1x2xf32>
  }
  module @global {
    func.func @f(%y: tensor<3x1x2xf32>) -> tensor<2x3x2xf32> {
      %0 = tensor.collapse_shape %y [[0], [1, 2]] : tensor<3x1x2xf32> into tensor<3x2xf32>
      %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [1, 3, 2] : tensor<3x2xf32> into tensor<1x3x2xf32>
      %2 = tensor.concat dim(0) %1, %1 : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<2x3x2xf32>
      return %2 : tensor<2x3x2xf32>
    }
  }
}

// -----

// One element of two dimensions: a slice may lack either. What is computed of
// it, behind a barrier, says which.

// CHECK-LABEL: func.func @lacks
module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @lacks(%a: tensor<1x1x6xf32> {weft.global_type = tensor<4x1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x"}, {}, {}]>}) -> (tensor<1x2x6xf32> {weft.global_type = tensor<2x2x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"y"}, {}, {}]>}) {
    %0 = tensor.expand_shape %a [[0, 1], [2], [3]] output_shape [1, 1, 1, 6] {weft.global_type = tensor<2x2x1x6xf32>} : tensor<1x1x6xf32> into tensor<1x1x1x6xf32>
    %1 = tensor.extract_slice %0[0, 0, 0, 0] [1, 1, 1, 6] [1, 1, 1, 1] : tensor<1x1x1x6xf32> to tensor<1x1x6xf32>
    %2 = weft.optimization_barrier %1 : tensor<1x1x6xf32>
    %e = tensor.empty() : tensor<1x1x6xf32>
    %3 = linalg.tanh ins(%2 : tensor<1x1x6xf32>) outs(%e : tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
    %4 = weft.all_gather %3 on @mesh <{"x"}> dims [1] : (tensor<1x1x6xf32>) -> tensor<1x2x6xf32>
    return %4 : tensor<1x2x6xf32>
  }
  module @global {
    func.func @lacks(%a: tensor<4x1x6xf32>) -> tensor<2x2x6xf32> {
      %0 = tensor.expand_shape %a [[0, 1], [2], [3]] output_shape [2, 2, 1, 6] : tensor<4x1x6xf32> into tensor<2x2x1x6xf32>
      %1 = tensor.extract_slice %0[0, 0, 0, 0] [2, 2, 1, 6] [1, 1, 1, 1] : tensor<2x2x1x6xf32> to tensor<2x2x6xf32>
      %2 = weft.optimization_barrier %1 : tensor<2x2x6xf32>
      %e = tensor.empty() : tensor<2x2x6xf32>
      %3 = linalg.tanh ins(%2 : tensor<2x2x6xf32>) outs(%e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
      return %3 : tensor<2x2x6xf32>
    }
  }
}

// -----

// A gather of two dimensions as one, of which a rank has one element of the
// first: that it becomes two again is said behind the gather only.

// CHECK-LABEL: func.func @gathered
module {
  weft.mesh @mesh = <["x"=2, "z"=2]>
  func.func @gathered(%a: tensor<1x2x8xf32> {weft.global_type = tensor<2x4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"z"}, {"x"}, {}]>}) -> (tensor<1x2x4x8xf32> {weft.global_type = tensor<1x2x4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}, {}]>}) {
    %0 = weft.all_gather %a on @mesh <{"z", "x"}> dims [1] : (tensor<1x2x8xf32>) -> tensor<1x8x8xf32>
    %1 = tensor.expand_shape %0 [[0], [1, 2], [3]] output_shape [1, 2, 4, 8] : tensor<1x8x8xf32> into tensor<1x2x4x8xf32>
    return %1 : tensor<1x2x4x8xf32>
  }
  module @global {
    func.func @gathered(%a: tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32> {
      %0 = tensor.expand_shape %a [[0, 1], [2], [3]] output_shape [1, 2, 4, 8] : tensor<2x4x8xf32> into tensor<1x2x4x8xf32>
      return %0 : tensor<1x2x4x8xf32>
    }
  }
}

// -----

// Two dimensions along which a value does not change: just how often both
// together repeat it is told.

// CHECK-LABEL: func.func @repeatedTwice
module {
  weft.mesh @mesh = <["b"=2, "c"=2]>
  func.func @repeatedTwice(%a: tensor<2xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<1x1x2xf32> {weft.global_type = tensor<2x2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"b"}, {"c"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x2xf32>
    %0 = linalg.broadcast ins(%a : tensor<2xf32>) outs(%e : tensor<1x1x2xf32>) dimensions = [0, 1]
    %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<1x1x2xf32> into tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    %2 = linalg.tanh ins(%1 : tensor<2xf32>) outs(%f : tensor<2xf32>) -> tensor<2xf32>
    %3 = tensor.expand_shape %2 [[0, 1, 2]] output_shape [1, 1, 2] {weft.global_type = tensor<2x2x2xf32>} : tensor<2xf32> into tensor<1x1x2xf32>
    return %3 : tensor<1x1x2xf32>
  }
  module @global {
    func.func @repeatedTwice(%a: tensor<2xf32>) -> tensor<2x2x2xf32> {
      %e = tensor.empty() : tensor<2x2x2xf32>
      %0 = linalg.broadcast ins(%a : tensor<2xf32>) outs(%e : tensor<2x2x2xf32>) dimensions = [0, 1]
      %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<2x2x2xf32> into tensor<8xf32>
      %f = tensor.empty() : tensor<8xf32>
      %2 = linalg.tanh ins(%1 : tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
      %3 = tensor.expand_shape %2 [[0, 1, 2]] output_shape [2, 2, 2] : tensor<8xf32> into tensor<2x2x2xf32>
      return %3 : tensor<2x2x2xf32>
    }
  }
}
