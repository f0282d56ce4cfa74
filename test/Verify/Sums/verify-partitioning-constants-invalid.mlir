// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-constants.mlir must not be otherwise: the
// elements, their order, and which of them a rank has.

module {
  weft.mesh @mesh = <["d"=2]>
  func.func @other_elements() -> (tensor<2x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    // expected-error @below {{makes result #0 another one}}
    %c = arith.constant dense<[[1.0, 3.0], [2.0, 4.0]]> : tensor<2x2xf32>
    return %c : tensor<2x2xf32>
  }
  module @global {
    func.func @other_elements() -> tensor<2x2xf32> {
      %c = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
      // expected-note @below {{this op of the global program}}
      %0 = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x2x2xf32> into tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["d"=2]>
  func.func @other_part() -> (tensor<1x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) {
    %c = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
    %r = weft.axis_index @mesh <{"d"}>
    %part = tensor.extract_slice %c[0, 0, 0] [1, 1, 2] [1, 1, 1] : tensor<1x2x2xf32> to tensor<1x1x2xf32>
    %0 = tensor.collapse_shape %part [[0, 1], [2]] : tensor<1x1x2xf32> into tensor<1x2xf32>
    // expected-error @below {{result #0}}
    return %0 : tensor<1x2xf32>
  }
  module @global {
    func.func @other_part() -> tensor<2x2xf32> {
      %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      return %c : tensor<2x2xf32>
    }
  }
}
