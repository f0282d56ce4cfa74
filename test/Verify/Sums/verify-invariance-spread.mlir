// RUN: weft-opt %s --weft-verify-invariance | FileCheck %s

// What one rank has found is repeated before it is joined: each element is one
// of what was found.

// CHECK-LABEL: func.func @spread
module attributes {weft.invariance = #weft.invariance<axes = ["t"], leaves = 8>} {
  weft.mesh @mesh = <["t"=2]>
  func.func @spread(%x: tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %i: tensor<2xi32>) -> tensor<3x2x4xf32> {
    %n = arith.constant 4 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = weft.take %x, %i base %b {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>} : tensor<4x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
    %e = tensor.empty() : tensor<3x2x4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(q, s, d) -> (s, d)>, affine_map<(q, s, d) -> (q, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%0 : tensor<2x4xf32>) outs(%e : tensor<3x2x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<3x2x4xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> {weft.order = #weft.order<leaves = 2>} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    return %2 : tensor<3x2x4xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["t"=1]>
    func.func @spread(%x: tensor<8x4xf32>, %i: tensor<2xi32>) -> tensor<3x2x4xf32> {
      %0 = weft.take %x, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>} : tensor<8x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
      %e = tensor.empty() : tensor<3x2x4xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(q, s, d) -> (s, d)>, affine_map<(q, s, d) -> (q, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%0 : tensor<2x4xf32>) outs(%e : tensor<3x2x4xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<3x2x4xf32>
      return %1 : tensor<3x2x4xf32>
    }
  }
}
