// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics

// Whether any of one element is no zero: that element is none. A loop of one
// iteration is left out where ops are fused.

#all = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
module {
  func.func @any(%x: tensor<4x1xi32>) -> tensor<4xi32> {
    %e = tensor.empty() : tensor<4xi32>
    %zero = arith.constant 0 : i32
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4x1xi32>) outs(%e : tensor<4xi32>) {
    ^bb0(%v: i32, %o: i32):
      %is = arith.cmpi ne, %v, %zero : i32
      %r = arith.extui %is : i1 to i32
      linalg.yield %r : i32
    } -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  module @local {
    func.func @any(%x: tensor<4x1xi32>) -> tensor<4xi32> {
      %e = tensor.empty() : tensor<4xi32>
      %zero = arith.constant 0 : i32
      %none = arith.constant dense<false> : tensor<4xi1>
      %any = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x1xi32>) outs(%none : tensor<4xi1>) {
      ^bb0(%v: i32, %o: i1):
        %is = arith.cmpi ne, %v, %zero : i32
        %r = arith.ori %o, %is : i1
        linalg.yield %r : i1
      } -> tensor<4xi1>
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%any : tensor<4xi1>) outs(%e : tensor<4xi32>) {
      ^bb0(%v: i1, %o: i32):
        %r = arith.extui %v : i1 to i32
        linalg.yield %r : i32
      } -> tensor<4xi32>
      return %0 : tensor<4xi32>
    }
  }
}

// -----

// One that begins with another truth value is another one.

#all = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
module {
  func.func @any(%x: tensor<4x1xi32>) -> tensor<4xi1> {
    %e = tensor.empty() : tensor<4xi1>
    %zero = arith.constant 0 : i32
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4x1xi32>) outs(%e : tensor<4xi1>) {
    ^bb0(%v: i32, %o: i1):
      // expected-error @+1 {{makes result #0 another one than before scheduling: arith.xori, expected constant true}}
      %is = arith.cmpi ne, %v, %zero : i32
      linalg.yield %is : i1
    } -> tensor<4xi1>
    return %0 : tensor<4xi1>
  }
  module @local {
    func.func @any(%x: tensor<4x1xi32>) -> tensor<4xi1> {
      %zero = arith.constant 0 : i32
      // expected-note @+1 {{this op of the program before makes constant true}}
      %one = arith.constant dense<true> : tensor<4xi1>
      %any = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x1xi32>) outs(%one : tensor<4xi1>) {
      ^bb0(%v: i32, %o: i1):
        %is = arith.cmpi ne, %v, %zero : i32
        %r = arith.ori %o, %is : i1
        linalg.yield %r : i1
      } -> tensor<4xi1>
      return %any : tensor<4xi1>
    }
  }
}
