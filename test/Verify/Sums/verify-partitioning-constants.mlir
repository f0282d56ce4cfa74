// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// A constant with another shape is a constant, on a rank or in the global
// program, and what is cut of the one is a part of the other.

// CHECK-LABEL: func.func @made_on_a_rank
module {
  weft.mesh @mesh = <["d"=2]>
  func.func @made_on_a_rank() -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    return %c : tensor<2x2xf32>
  }
  module @global {
    func.func @made_on_a_rank() -> tensor<2x2xf32> {
      %c = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
      %0 = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x2x2xf32> into tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }
  }
}

// -----

// CHECK-LABEL: func.func @cut_on_a_rank
module {
  weft.mesh @mesh = <["d"=2]>
  func.func @cut_on_a_rank() -> (tensor<1x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) {
    %c = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
    %r = weft.axis_index @mesh <{"d"}>
    %part = tensor.extract_slice %c[0, %r, 0] [1, 1, 2] [1, 1, 1] : tensor<1x2x2xf32> to tensor<1x1x2xf32>
    %0 = tensor.collapse_shape %part [[0, 1], [2]] : tensor<1x1x2xf32> into tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  module @global {
    func.func @cut_on_a_rank() -> tensor<2x2xf32> {
      %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      return %c : tensor<2x2xf32>
    }
  }
}
