// RUN: weft-opt %s --weft-verify-partitioning | FileCheck %s

// Five elements in parts of three, one after the other; the last one has two.

// CHECK-LABEL: func.func @last_part
module {
  weft.mesh @mesh = <[]>
  func.func @last_part(%x: tensor<5xf32>) -> tensor<f32> {
    %c5 = arith.constant 5 : index
    %rest = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %init = arith.constant dense<0.0> : tensor<f32>
    %0 = tensor.extract_slice %x[0] [3] [1] : tensor<5xf32> to tensor<3xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %i = linalg.index 0 : index
      %is = arith.cmpi slt, %i, %c5 : index
      %e = arith.select %is, %p, %zero : f32
      %a = arith.addf %o, %e : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    %2 = tensor.extract_slice %x[3] [2] [1] : tensor<5xf32> to tensor<2xf32>
    %3 = tensor.pad %2 low[0] high[1] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<2xf32> to tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%3 : tensor<3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %i = linalg.index 0 : index
      %is = arith.cmpi slt, %i, %rest : index
      %e = arith.select %is, %p, %zero : f32
      %a = arith.addf %o, %e : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    %empty = tensor.empty() : tensor<f32>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1, %4 : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %a = arith.addf %p, %q : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    return %5 : tensor<f32>
  }
  module @global {
    func.func @last_part(%x: tensor<5xf32>) -> tensor<f32> {
      %init = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<5xf32>) outs(%init : tensor<f32>) {
      ^bb0(%p: f32, %o: f32):
        %a = arith.addf %o, %p : f32
        linalg.yield %a : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}
