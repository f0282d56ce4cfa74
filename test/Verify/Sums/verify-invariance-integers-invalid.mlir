// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// The greatest of the parts of a sum.

module attributes {weft.invariance = #weft.invariance<axes = ["x"], leaves = 8>} {
  weft.mesh @mesh = <["x"=2]>
  func.func @greatest(%x: tensor<4x4xi32> {weft.global_type = tensor<8x4xi32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<3xi32>) -> tensor<3xi32> {
    %none = arith.constant dense<0> : tensor<4xi32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xi32>) outs(%none : tensor<4xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<4xi32>
    %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xi32>, tensor<3xi32> -> tensor<3xi32>
    // expected-error@+1 {{combines contributions to a sum by max}}
    %1 = weft.all_reduce max %0 on @mesh <{"x"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %1 : tensor<3xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["x"=1]>
    func.func @greatest(%x: tensor<8x4xi32>, %i: tensor<3xi32>) -> tensor<3xi32> {
      %none = arith.constant dense<0> : tensor<4xi32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xi32>) outs(%none : tensor<4xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<4xi32>
      %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xi32>, tensor<3xi32> -> tensor<3xi32>
      return %0 : tensor<3xi32>
    }
  }
}

// -----

// The greatest of floats is looked up as such, and is no sum, nor beside what all ranks have.

module attributes {weft.invariance = #weft.invariance<axes = ["x"], leaves = 8>} {
  weft.mesh @mesh = <["x"=2]>
  func.func @floats(%x: tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<3xi32>) -> tensor<3xf32> {
    %none = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%none : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
    // expected-error@+1 {{combines contributions to a max by sum}}
    %1 = weft.all_reduce sum %0 on @mesh <{"x"}> : (tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["x"=1]>
    func.func @floats(%x: tensor<8x4xf32>, %i: tensor<3xi32>) -> tensor<3xf32> {
      %none = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%none : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
      %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }
  }
}
