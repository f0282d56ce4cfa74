// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// Parts of a sum that are turned around are parts of the sum that is.

module attributes {weft.invariance = #weft.invariance<axes = ["a"], leaves = 8>} {
  weft.mesh @mesh = <["a"=2]>
  func.func @reversed(%x: tensor<4x6xf32> {weft.global_type = tensor<8x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%i : tensor<6xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0 + 5)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<6xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"a"}> {weft.order = #weft.order<leaves = 2>} : (tensor<6xf32>) -> tensor<6xf32>
    return %2 : tensor<6xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["a"=1]>
    func.func @reversed(%x: tensor<8x6xf32>) -> tensor<6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<6xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x6xf32>) outs(%i : tensor<6xf32>) attrs = {weft.order = #weft.order<leaves = 2>} {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %b, %a : f32
        linalg.yield %s : f32
      } -> tensor<6xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0 + 5)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      } -> tensor<6xf32>
      return %1 : tensor<6xf32>
    }
  }
}

// -----

// Those that are not turned around are parts of another one.

module attributes {weft.invariance = #weft.invariance<axes = ["a"], leaves = 8>} {
  weft.mesh @mesh = <["a"=2]>
  func.func @reversed(%x: tensor<4x6xf32> {weft.global_type = tensor<8x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%i : tensor<6xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<6xf32>
    // expected-error @+1 {{'weft.all_reduce' op makes result #0 depend on the mesh: arith.addf 6xf32: tree 2 in f32 of chain 4, but on one rank map 6xf32}}
    %2 = weft.all_reduce sum %1 on @mesh <{"a"}> {weft.order = #weft.order<leaves = 2>} : (tensor<6xf32>) -> tensor<6xf32>
    return %2 : tensor<6xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["a"=1]>
    func.func @reversed(%x: tensor<8x6xf32>) -> tensor<6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<6xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x6xf32>) outs(%i : tensor<6xf32>) attrs = {weft.order = #weft.order<leaves = 2>} {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %b, %a : f32
        linalg.yield %s : f32
      } -> tensor<6xf32>
      // expected-note @+1 {{this op of the one-rank program makes map 6xf32}}
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0 + 5)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      } -> tensor<6xf32>
      return %1 : tensor<6xf32>
    }
  }
}
