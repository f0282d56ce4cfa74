// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics

// A rank's rows are cut at twice its number: that is one of six as well.

#in = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0, d1)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @inside(%x: tensor<3xf32>, %y: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6x3xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<6x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6x3xf32>
    %1 = tensor.extract_slice %0[%b, 0] [2, 3] [1, 1] : tensor<6x3xf32> to tensor<2x3xf32>
    %2 = tensor.extract_slice %y[%b, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
    return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
  }
  module @local {
    weft.mesh @mesh = <["t"=2]>
    func.func @inside(%x: tensor<3xf32>, %y: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      %n = arith.constant 2 : index
      %r = weft.axis_index @mesh <{"t"}>
      %b = arith.muli %r, %n : index
      %e = tensor.empty() : tensor<4x3xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<4x3xf32>
      %1 = tensor.extract_slice %0[%b, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
      %2 = tensor.extract_slice %y[%b, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
      return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
    }
  }
}

// -----

// The same elements, if there were any: all rows are alike, but there are two.

#in = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0, d1)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @outside(%x: tensor<3xf32>) -> tensor<2x3xf32> {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<2x3xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x3xf32>
    // expected-error@+1 {{begins at a place that may be past 0, the last one that is inside of its tensor: the program before does not say that it is not}}
    %1 = tensor.extract_slice %0[%b, 0] [2, 3] [1, 1] : tensor<2x3xf32> to tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
  module @local {
    weft.mesh @mesh = <["t"=2]>
    func.func @outside(%x: tensor<3xf32>) -> tensor<2x3xf32> {
      %n = arith.constant 2 : index
      %r = weft.axis_index @mesh <{"t"}>
      %b = arith.muli %r, %n : index
      %e = tensor.empty() : tensor<4x3xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<4x3xf32>
      %1 = tensor.extract_slice %0[%b, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}
