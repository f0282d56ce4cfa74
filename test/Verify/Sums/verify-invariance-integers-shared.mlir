// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// Sums of products with parts of a sum, over a loop that ranks share as well.

#k = affine_map<(k) -> (k)>
#s = affine_map<(k) -> ()>
#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<4x3xi32> {weft.global_type = tensor<8x6xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
               %w: tensor<3xi32> {weft.global_type = tensor<6xi32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<i32> {
    %z = arith.constant dense<0> : tensor<3xi32>
    %zero = arith.constant dense<0> : tensor<i32>
    %0 = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%z : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %r = arith.addi %a, %o : i32
      linalg.yield %r : i32
    } -> tensor<3xi32>
    %1 = linalg.generic {indexing_maps = [#k, #k, #s], iterator_types = ["reduction"]} ins(%0, %w : tensor<3xi32>, tensor<3xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%a: i32, %b: i32, %o: i32):
      %p = arith.muli %a, %b : i32
      %r = arith.addi %p, %o : i32
      linalg.yield %r : i32
    } -> tensor<i32>
    %2 = weft.all_reduce sum %1 on @mesh <{"dp", "tp"}> : (tensor<i32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1, "tp"=1]>
    func.func @f(%x: tensor<8x6xi32>, %w: tensor<6xi32>) -> tensor<i32> {
      %z = arith.constant dense<0> : tensor<6xi32>
      %zero = arith.constant dense<0> : tensor<i32>
      %0 = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x6xi32>) outs(%z : tensor<6xi32>) {
      ^bb0(%a: i32, %o: i32):
        %r = arith.addi %a, %o : i32
        linalg.yield %r : i32
      } -> tensor<6xi32>
      %1 = linalg.generic {indexing_maps = [#k, #k, #s], iterator_types = ["reduction"]} ins(%0, %w : tensor<6xi32>, tensor<6xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%a: i32, %b: i32, %o: i32):
        %p = arith.muli %a, %b : i32
        %r = arith.addi %p, %o : i32
        linalg.yield %r : i32
      } -> tensor<i32>
      return %1 : tensor<i32>
    }
  }
}

// -----

// All parts of sums of products with parts of a sum, over a loop that ranks share as well.

#k = affine_map<(k) -> (k)>
#s = affine_map<(k) -> ()>
#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<4x3xi32> {weft.global_type = tensor<8x6xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
               %w: tensor<3xi32> {weft.global_type = tensor<6xi32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<i32> {
    %z = arith.constant dense<0> : tensor<3xi32>
    %zero = arith.constant dense<0> : tensor<i32>
    %0 = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%z : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %r = arith.addi %a, %o : i32
      linalg.yield %r : i32
    } -> tensor<3xi32>
    %1 = linalg.generic {indexing_maps = [#k, #k, #s], iterator_types = ["reduction"]} ins(%0, %w : tensor<3xi32>, tensor<3xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%a: i32, %b: i32, %o: i32):
      %p = arith.muli %a, %b : i32
      %r = arith.addi %p, %o : i32
      linalg.yield %r : i32
    } -> tensor<i32>
    %2 = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<i32>) -> tensor<i32>
    // expected-error@+1 {{result #0 is a contribution: one of 4 parts of arith.addi (r6 (d0) -> ())}}
    return %2 : tensor<i32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1, "tp"=1]>
    func.func @f(%x: tensor<8x6xi32>, %w: tensor<6xi32>) -> tensor<i32> {
      %z = arith.constant dense<0> : tensor<6xi32>
      %zero = arith.constant dense<0> : tensor<i32>
      %0 = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x6xi32>) outs(%z : tensor<6xi32>) {
      ^bb0(%a: i32, %o: i32):
        %r = arith.addi %a, %o : i32
        linalg.yield %r : i32
      } -> tensor<6xi32>
      %1 = linalg.generic {indexing_maps = [#k, #k, #s], iterator_types = ["reduction"]} ins(%0, %w : tensor<6xi32>, tensor<6xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%a: i32, %b: i32, %o: i32):
        %p = arith.muli %a, %b : i32
        %r = arith.addi %p, %o : i32
        linalg.yield %r : i32
      } -> tensor<i32>
      return %1 : tensor<i32>
    }
  }
}
