// RUN: weft-opt %s --weft-verify-invariance --split-input-file --verify-diagnostics

// Each rank sends the row that the other one needs: they are put together in the
// wrong order.

module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
      -> tensor<2x3xf32> {
    %c1 = arith.constant 1 : index
    %a = tensor.extract_slice %x[0, 0] [1, 3] [1, 1] : tensor<2x3xf32> to tensor<1x3xf32>
    %b = tensor.extract_slice %x[1, 0] [1, 3] [1, 1] : tensor<2x3xf32> to tensor<1x3xf32>
    %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %1 = tensor.expand_shape %b [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %2 = tensor.concat dim(0) %0, %1 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<2x1x3xf32>
    %rank = weft.axis_index @mesh <{"dp"}>
    %other = arith.subi %c1, %rank : index
    %3 = tensor.extract_slice %2[%other, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> to tensor<1x3xf32>
    %4 = weft.permute %3 on @mesh <{"dp"}> sources [1, 0] : (tensor<1x3xf32>) -> tensor<1x3xf32>
    // expected-error @below {{puts chunks 2, 1 of 1 elements one after the other, which are no neighbours}}
    %low = weft.all_gather %4 on @mesh <{"dp"}> dims [0] : (tensor<1x3xf32>) -> tensor<2x3xf32>
    return %low : tensor<2x3xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<4x3xf32>) -> tensor<2x3xf32> {
      %low = tensor.extract_slice %x[1, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
      return %low : tensor<2x3xf32>
    }
  }
}

// -----

// Rank 1 picks what is past the last entry.

module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<1xf32> {
    %c1 = arith.constant 1 : index
    %a = tensor.extract_slice %x[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
    %b = tensor.extract_slice %x[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
    %0 = tensor.expand_shape %a [[0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
    %1 = tensor.expand_shape %b [[0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
    %2 = tensor.concat dim(0) %0, %1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
    %rank = weft.axis_index @mesh <{"dp"}>
    %number = arith.addi %rank, %c1 : index
    // expected-error @below {{picks [1, 2] of 2 values}}
    %first = tensor.extract_slice %2[%number, 0] [1, 1] [1, 1] : tensor<2x1xf32> to tensor<1xf32>
    return %first : tensor<1xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<4xf32>) -> tensor<1xf32> {
      %first = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<1xf32>
      return %first : tensor<1xf32>
    }
  }
}
