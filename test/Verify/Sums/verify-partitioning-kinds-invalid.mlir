// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// Both reductions are taken along an axis more than they are cut. That is right
// for the maximum, which counts nothing twice, and wrong for the sum of the same
// parts on the same ranks.

#in = affine_map<(i) -> (i)>
#out = affine_map<(i) -> ()>
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @maximum_and_sum(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
      -> (tensor<f32>, tensor<f32>) {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.maximumf %a, %o : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %1 = weft.all_reduce max %0 on @mesh <{"dp", "tp"}> : (tensor<f32>) -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error@+1 {{combines parts 0, 0, 1, 1 of 2 of arith.addf}}
    %3 = weft.all_reduce sum %2 on @mesh <{"dp", "tp"}> : (tensor<f32>) -> tensor<f32>
    return %1, %3 : tensor<f32>, tensor<f32>
  }
  module @global {
    func.func @maximum_and_sum(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) {
      %low = arith.constant dense<0xFF800000> : tensor<f32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
          ins(%x : tensor<8xf32>) outs(%low : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %m = arith.maximumf %a, %o : f32
        linalg.yield %m : f32
      } -> tensor<f32>
      %1 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
          ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %0, %1 : tensor<f32>, tensor<f32>
    }
  }
}

// -----

// The same of integers.

#in = affine_map<(i) -> (i)>
#out = affine_map<(i) -> ()>
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @bits_and_sum(%x: tensor<4xi32> {weft.global_type = tensor<8xi32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
      -> (tensor<i32>, tensor<i32>) {
    %zero = arith.constant dense<0> : tensor<i32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
        ins(%x : tensor<4xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%a: i32, %o: i32):
      %m = arith.ori %a, %o : i32
      linalg.yield %m : i32
    } -> tensor<i32>
    %1 = weft.all_reduce or %0 on @mesh <{"dp", "tp"}> : (tensor<i32>) -> tensor<i32>
    %2 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
        ins(%x : tensor<4xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %a, %o : i32
      linalg.yield %s : i32
    } -> tensor<i32>
    // expected-error@+1 {{combines parts 0, 0, 1, 1 of 2 of arith.addi}}
    %3 = weft.all_reduce sum %2 on @mesh <{"dp", "tp"}> : (tensor<i32>) -> tensor<i32>
    return %1, %3 : tensor<i32>, tensor<i32>
  }
  module @global {
    func.func @bits_and_sum(%x: tensor<8xi32>) -> (tensor<i32>, tensor<i32>) {
      %zero = arith.constant dense<0> : tensor<i32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
          ins(%x : tensor<8xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%a: i32, %o: i32):
        %m = arith.ori %a, %o : i32
        linalg.yield %m : i32
      } -> tensor<i32>
      %1 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
          ins(%x : tensor<8xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%a: i32, %o: i32):
        %s = arith.addi %a, %o : i32
        linalg.yield %s : i32
      } -> tensor<i32>
      return %0, %1 : tensor<i32>, tensor<i32>
    }
  }
}
