// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// An argument of a type without an order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4xcomplex<f32>>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    return %zero : tensor<f32>
  }
 module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    // expected-error @+1 {{argument #0 has type 'tensor<4xcomplex<f32>>', which cannot be followed}}
    func.func @f(%x: tensor<4xcomplex<f32>>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A value of a type without an order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %e = tensor.empty() : tensor<4xf32>
    // expected-error @+1 {{makes a value of type 'tensor<4xcomplex<f32>>', which cannot be followed}}
    %c = tensor.empty() : tensor<4xcomplex<f32>>
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

// A result in other chunks.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> (tensor<12xf32> {weft.global_type = tensor<24xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    // expected-error @+1 {{result #0 has dim 0 of size 12 in chunks [0, 0], expected size 24 in chunks [0, 1]}}
    return %x : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>) -> tensor<24xf32> {
      %c = arith.constant dense<0.0> : tensor<24xf32>
      return %c : tensor<24xf32>
    }
  }
}

// -----

// A constant whose elements are elsewhere.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f() -> tensor<2xf32> {
    // expected-error @+1 {{is a constant that cannot be followed}}
    %0 = arith.constant dense_resource<elsewhere> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f() -> tensor<2xf32> {
      %c = arith.constant dense<0.0> : tensor<2xf32>
      return %c : tensor<2xf32>
    }
  }
}
{-# dialect_resources: { builtin: { elsewhere: "0x040000000000803F00000040" } } #-}

// -----

// Two functions.

// expected-error @+1 {{has 2 functions and a one-rank program of 1, expected one each}}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  func.func private @g()
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Another mesh.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  // expected-error @+1 {{has a mesh with other axes}}
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// An axis that must not matter.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  // expected-error @+1 {{has an axis "tp" of size 2, expected 1}}
  module @one_rank {
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Other arguments.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    // expected-error @+1 {{argument #0 is another one}}
    func.func @f(%x: tensor<14xf32>) -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Other results.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    // expected-error @+1 {{result #0 is another one}}
    func.func @f(%x: tensor<12xf32>) -> (tensor<12xf32> {weft.name = "y"}) {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// More arguments.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    // expected-error @+1 {{has 0 arguments and 1 results, expected 1 and 1}}
    func.func @f() -> tensor<12xf32> {
      %c = arith.constant dense<0.0> : tensor<12xf32>
      return %c : tensor<12xf32>
    }
  }
}

// -----

// Nothing to compare with.

// expected-error @+1 {{has 'weft.invariance', but no module @one_rank to compare with}}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
}
