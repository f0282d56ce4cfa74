// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A reduction of values that are no parts of one sum.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{works on different parts of a tensor: ranks 0 and 1 have along dim 0 chunks 0 and 1}}
    %0 = weft.all_reduce max %x on @mesh <{"tp"}> : (tensor<64xf32>) -> tensor<64xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A gather with its axes in another order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "dp"}]>}) -> tensor<12xf32> {
    // expected-error @+1 {{puts chunks 0, 2, 1, 3 of 3 elements one after the other, which are no neighbours}}
    %0 = weft.all_gather %x on @mesh <{"dp", "tp"}> dims [0] : (tensor<3xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=2, "tp"=1]>
    func.func @f(%x: tensor<6xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Zeros instead of a part.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{gives a rank zeros that are no part of a tensor}}
    %0 = weft.permute %x on @mesh <{"tp"}> sources [-1, 0] : (tensor<64xf32>) -> tensor<64xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A dim that is split and put together.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{splits and concatenates one dim, 0}}
    %0 = weft.all_to_all %x on @mesh <{"tp"}> split [0] concat [0] : (tensor<12xf32>) -> tensor<12xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A slice at an offset that is data, and something else.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>, %i: tensor<i64>) -> tensor<3xf32> {
    %d = tensor.extract %i[] : tensor<i64>
    %o = arith.index_cast %d : i64 to index
    // expected-error @+1 {{makes result #0 depend on the mesh: slice 3xf32 (0: data + 3 * 1, ), but on one rank constant}}
    %0 = tensor.extract_slice %x[%o] [3] [1] : tensor<12xf32> to tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>, %i: tensor<i64>) -> tensor<3xf32> {
      // expected-note @+1 {{this op of the one-rank program makes constant}}
      %c = arith.constant dense<0.0> : tensor<3xf32>
      return %c : tensor<3xf32>
    }
  }
}

// -----

// A slice of padding.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<7xf32> {
    %g = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<3xf32>) -> tensor<12xf32>
    // expected-error @+1 {{reads past the end of dim 0 of size 10}}
    %0 = tensor.extract_slice %g[4] [7] [1] : tensor<12xf32> to tensor<7xf32>
    return %0 : tensor<7xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10xf32>) -> tensor<7xf32> {
      %c = arith.constant dense<0.0> : tensor<7xf32>
      return %c : tensor<7xf32>
    }
  }
}

// -----

// A slice that is no chunk.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> (tensor<6xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %c5 = arith.constant 5 : index
    %r = weft.axis_index @mesh <{"tp"}>
    %o = arith.muli %r, %c5 : index
    // expected-error @+1 {{cuts dim 0 of size 12 at [0, 5], which is not at chunks of 6}}
    %0 = tensor.extract_slice %x[%o] [6] [1] : tensor<12xf32> to tensor<6xf32>
    return %0 : tensor<6xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// An insertion at the rank's place.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>, %y: tensor<6xf32>) -> tensor<12xf32> {
    %c6 = arith.constant 6 : index
    %r = weft.axis_index @mesh <{"tp"}>
    %o = arith.muli %r, %c6 : index
    // expected-error @+1 {{inserts along dim 0 at a place that depends on the rank: [0, 6]}}
    %0 = tensor.insert_slice %y into %x[%o] [6] [1] : tensor<6xf32> into tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>, %y: tensor<6xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Padding by index.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4xindex>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{pads with something that is computed}}
    %0 = tensor.pad %x low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %i : index
    } : tensor<4xindex> to tensor<6xindex>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<4xindex>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A part that does not fit in rows.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<13xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{cuts dim 0 of size 13 in a way that ranks' parts do not fit}}
    %0 = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<13xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A concatenation of parts.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{concatenates along a dimension of size 128, of which a rank has 64 elements}}
    %0 = tensor.concat dim(0) %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}
