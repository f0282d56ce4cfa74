// RUN: weft-opt %s --weft-global-to-local | FileCheck %s

// The axis of the experts also shards the batch, so that it is a storage axis
// of their weights, like fsdp; but compute keeps it. The update takes place
// where the weights rest: their gradient is scattered, and nothing is gathered.

#x = affine_map<(e, c, d, f) -> (e, c, d)>
#w = affine_map<(e, c, d, f) -> (e, d, f)>
#y = affine_map<(e, c, d, f) -> (e, c, f)>
#id = affine_map<(e, d, f) -> (e, d, f)>

weft.mesh @mesh = <["fsdp"=2, "ep"=2]>

// CHECK-LABEL: func @experts
// CHECK-SAME: weft.sharding = #weft.sharding<@mesh, [{"ep"}, {"fsdp"}, {}], storage = {"fsdp", "ep"}>
// CHECK-NOT: weft.all_gather
// CHECK: weft.matmul {{.*}} -> tensor<2x16x32xf32>
// CHECK: weft.reduce_scatter sum {{.*}} on @mesh <{"fsdp"}> dims [1] : (tensor<2x16x32xf32>) -> tensor<2x8x32xf32>
// CHECK-NOT: weft.all_{{gather|reduce}}
func.func @experts(
    %x: tensor<4x64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"ep"}, {"fsdp"}, {}]>},
    %g: tensor<4x64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"ep"}, {"fsdp"}, {}]>},
    %p: tensor<4x16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"ep"}, {"fsdp"}, {}]>})
    -> (tensor<4x16x32xf32> {weft.alias = 2 : index}) {
  %e = tensor.empty() : tensor<4x16x32xf32>
  %dw = weft.matmul %x, %g {indexing_maps = [#x, #y, #w]} : tensor<4x64x16xf32>, tensor<4x64x32xf32> -> tensor<4x16x32xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %dw : tensor<4x16x32xf32>, tensor<4x16x32xf32>) outs(%e : tensor<4x16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x16x32xf32>
  return %n : tensor<4x16x32xf32>
}
