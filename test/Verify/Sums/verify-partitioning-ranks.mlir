// RUN: timeout 60 weft-compile %s --to local -o - | FileCheck %s

// The time of the proof grows with the ranks, not with their square: what the
// members of a group get is found once.

// CHECK: weft.all_gather
// CHECK: weft.all_reduce
module {
  weft.mesh @mesh = <["x"=262144]>
  func.func @f(%a: tensor<262144x2xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<262144x2xf32> {weft.name = "all", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
          tensor<2xf32> {weft.name = "sum", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %zero = arith.constant dense<0.0> : tensor<2xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%a : tensor<262144x2xf32>) outs(%zero : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    return %a, %sum : tensor<262144x2xf32>, tensor<2xf32>
  }
}
