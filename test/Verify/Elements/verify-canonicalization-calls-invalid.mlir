// RUN: weft-opt %s --weft-verify-canonicalization -split-input-file -verify-diagnostics

// Six calls in each of seven functions: these are as many as can be followed.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @g0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @g0(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g1(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g1(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g1(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g1(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g1(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g1(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g1(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g2(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g2(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g2(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g2(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g2(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g2(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g2(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g3(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g3(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g3(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g3(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g3(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g3(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g3(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g4(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g4(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g4(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g4(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g4(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g4(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g4(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g5(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g5(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g5(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g5(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g5(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g5(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g5(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g6(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %x2 = func.call @g6(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g6(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g6(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g6(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g6(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g6(%x0: tensor<4xf32>) -> tensor<4xf32> {
      %x1 = func.call @g7(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      // expected-error @below {{'func.call' op calls 'g7', which makes more than 262144 ops of functions that are called, too many to be followed}}
      %x2 = func.call @g7(%x1) : (tensor<4xf32>) -> tensor<4xf32>
      %x3 = func.call @g7(%x2) : (tensor<4xf32>) -> tensor<4xf32>
      %x4 = func.call @g7(%x3) : (tensor<4xf32>) -> tensor<4xf32>
      %x5 = func.call @g7(%x4) : (tensor<4xf32>) -> tensor<4xf32>
      %x6 = func.call @g7(%x5) : (tensor<4xf32>) -> tensor<4xf32>
      return %x6 : tensor<4xf32>
    }
    func.func private @g7(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.negf %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}
