// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-nothing.mlir must not be otherwise.

// Of two ranks the second has no part, and does not get the other's.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @one_part(%x: tensor<1xf32> {weft.global_type = tensor<1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> tensor<f32> {
    %z = arith.constant 0.0 : f32
    %true = arith.constant true
    %n = arith.constant 1 : index
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %k = linalg.index 0 : index
      %g = arith.addi %k, %r : index
      %m = arith.cmpi slt, %g, %n : index
      %v = arith.select %m, %in, %z : f32
      %s = arith.addf %out, %v : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error@+1 {{result #0 is a contribution: one of 1 parts of}}
    return %1 : tensor<f32>
  }
  module @global {
    func.func @one_part(%x: tensor<1xf32>) -> tensor<f32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}

// -----

// What is past the end is added.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @one_part(%x: tensor<1xf32> {weft.global_type = tensor<1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> tensor<f32> {
    %z = arith.constant 0.0 : f32
    %true = arith.constant true
    %n = arith.constant 1 : index
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.select %true, %in, %z : f32
      // expected-error@+1 {{combines elements past the end of a dimension of size 1}}
      %s = arith.addf %out, %v : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @global {
    func.func @one_part(%x: tensor<1xf32>) -> tensor<f32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}

// -----

// It is whole, and added up again.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @one_part(%x: tensor<1xf32> {weft.global_type = tensor<1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> tensor<f32> {
    %z = arith.constant 0.0 : f32
    %true = arith.constant true
    %n = arith.constant 1 : index
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %k = linalg.index 0 : index
      %g = arith.addi %k, %r : index
      %m = arith.cmpi slt, %g, %n : index
      %v = arith.select %m, %in, %z : f32
      %s = arith.addf %out, %v : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<f32>) -> tensor<f32>
    // expected-error@+1 {{combines whole values, not contributions}}
    %3 = weft.all_reduce sum %2 on @mesh <{"t"}> : (tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
  module @global {
    func.func @one_part(%x: tensor<1xf32>) -> tensor<f32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %0 = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<1xf32>) outs(%0 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}
