// A maximum of what is divided by a sum over ranks waits for the sum.

// RUN: weft-compile %s --to local -o - | FileCheck %s
// CHECK: weft.all_reduce sum
// CHECK: weft.all_reduce max

#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
#none = affine_map<() -> ()>
weft.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %least = arith.constant dense<0xFF800000> : tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %v = tensor.empty() : tensor<8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #one], iterator_types = ["reduction"]} ins(%t : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %o, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %scale = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%sum : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.rsqrt %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel"]} ins(%t, %scale : tensor<8xf32>, tensor<f32>) outs(%v : tensor<8xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %r = arith.mulf %i, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %max = linalg.generic {indexing_maps = [#id, #one], iterator_types = ["reduction"]} ins(%y : tensor<8xf32>) outs(%least : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.maximumf %o, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %total = linalg.generic {indexing_maps = [#id, #one], iterator_types = ["reduction"]} ins(%y : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %o, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %max, %total : tensor<f32>, tensor<f32>
}
