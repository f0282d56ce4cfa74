// RUN: weft-opt %s --weft-verify-partitioning | FileCheck %s

// The second rank has nothing but what is past the end, and adds no part.

// CHECK-LABEL: func.func @one_part
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
