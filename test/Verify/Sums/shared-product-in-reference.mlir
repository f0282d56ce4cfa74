// A product along what is repeated in both factors: that ranks share it along
// "x", which is not invariant, just the sum after it says, in both programs.
// RUN: weft-opt %s --weft-verify-invariance | FileCheck %s
// CHECK: weft.certificate
// RUN: sed -e '/^  module @one_rank/,$ s/dense<2.0>/dense<3.0>/' %s > %t.FACTOR.mlir
// RUN: not weft-opt %t.FACTOR.mlir --weft-verify-invariance -o /dev/null 2>&1 | FileCheck %s --check-prefix=FACTOR
// FACTOR: error: 'weft.all_reduce' op combines whole values, not contributions: matmul

#both = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
module attributes {weft.invariance = #weft.invariance<axes = ["z"], leaves = 8>} {
  weft.mesh @mesh = <["x"=3, "z"=2]>
  func.func @step(%n: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{"z"}]>})
      -> (tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"z"}, {}]>}) {
    %e = tensor.empty() : tensor<4x1xf32>
    %0 = linalg.generic {indexing_maps = [#rows, #both], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<4xf32>) outs(%e : tensor<4x1xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    } -> tensor<4x1xf32>
    %c = arith.constant dense<2.0> : tensor<1x4xf32>
    %1 = weft.matmul %0, %c {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
        weft.order = #weft.order<leaves = 1>} : tensor<4x1xf32>, tensor<1x4xf32> -> tensor<4x4xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> {weft.order = #weft.order<leaves = 3>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  module @one_rank attributes {weft.invariance = #weft.invariance<axes = ["z"], leaves = 8>} {
    weft.mesh @mesh = <["x"=3, "z"=1]>
    func.func @step(%n: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{}]>})
        -> (tensor<8x4xf32> {weft.global_type = tensor<8x4xf32>, weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
      %e = tensor.empty() : tensor<8x1xf32>
      %0 = linalg.generic {indexing_maps = [#rows, #both], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<8xf32>) outs(%e : tensor<8x1xf32>) {
      ^bb0(%a: f32, %o: f32):
        %t = math.tanh %a : f32
        linalg.yield %t : f32
      } -> tensor<8x1xf32>
      %c = arith.constant dense<2.0> : tensor<1x4xf32>
      %1 = weft.matmul %0, %c {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
          weft.order = #weft.order<leaves = 1>} : tensor<8x1xf32>, tensor<1x4xf32> -> tensor<8x4xf32>
      %2 = weft.all_reduce sum %1 on @mesh <{"x"}> {weft.order = #weft.order<leaves = 3>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    }
  }
}
