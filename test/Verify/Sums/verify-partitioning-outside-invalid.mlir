// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What is repeated is the same at each place, but outside of it there is nothing: at places that ranks count, and at those that are
// computed from data.

#in = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0, d1)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @counted(%x: tensor<3xf32>) -> tensor<2x3xf32> {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<3x3xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<3x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<3x3xf32>
    // expected-error@+1 {{cuts dim 0 at [0, 2], which is past the end of its 3 elements}}
    %1 = tensor.extract_slice %0[%b, 0] [2, 3] [1, 1] : tensor<3x3xf32> to tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
  module @global {
    func.func @counted(%x: tensor<3xf32>) -> tensor<2x3xf32> {
      %e = tensor.empty() : tensor<2x3xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
  }
}

// -----

// The global program says that the place is at most 2.

#in = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0, d1)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @computed(%x: tensor<3xf32>, %i: index) -> tensor<2x3xf32> {
    %e = tensor.empty() : tensor<3x3xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<3x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<3x3xf32>
    // expected-error@+1 {{cuts dim 0 at a place that is computed from data, of which nothing says that it is not past 1, the last one that is inside}}
    %1 = tensor.extract_slice %0[%i, 0] [2, 3] [1, 1] : tensor<3x3xf32> to tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
  module @global {
    func.func @computed(%x: tensor<3xf32>, %i: index) -> tensor<2x3xf32> {
      %e = tensor.empty() : tensor<4x3xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<4x3xf32>
      %1 = tensor.extract_slice %0[%i, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// A result in the place of an argument lies elsewhere, although the axis has one rank only.

module {
  weft.mesh @mesh = <["d"=1, "t"=2]>
  // expected-error@+1 {{result #0 is sharded as #weft.sharding<@mesh, [{"t", "d"}]>, but argument #0, which is donated to it, as #weft.sharding<@mesh, [{"t"}]>}}
  func.func @donated(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>})
      -> (tensor<4xf32> {weft.alias = 0 : index, weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"t", "d"}]>}) {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @donated(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 0 : index}) {
      return %x : tensor<8xf32>
    }
  }
}
