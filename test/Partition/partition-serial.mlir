// RUN: weft-opt --weft-partition=serial=mb %s | FileCheck %s
// RUN: weft-opt --weft-partition=serial=mb --weft-accumulate=axis=mb --canonicalize %s | FileCheck %s --check-prefix=ROUNDS

// A gradient that is reduced to shards over two axes, of which one is a batch
// axis: what one rank has of it is summed first, whatever way the shards go.

weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2, "mb"=8]>

// CHECK-LABEL: func @gradient
// CHECK:      weft.all_reduce sum %{{.*}} on @mesh <{"mb"}>
// CHECK-NOT:  "mb"
// CHECK:      return
// ROUNDS-LABEL: func @gradient
// ROUNDS-COUNT-2: weft.reduce_scatter
// ROUNDS-NOT: weft.reduce_scatter
// ROUNDS:     return
func.func @gradient(%x: tensor<96x96x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}, {"dp", "fsdp", "mb"}]>})
    -> (tensor<96x96xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp", "tp"}, {}]>}) {
  %zero = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{}, {"tp"}]>]} dense<0.0> : tensor<96x96xf32>
  %0 = linalg.reduce ins(%x : tensor<96x96x64xf32>) outs(%zero : tensor<96x96xf32>) dimensions = [2]
    {weft.shardings = [#weft.sharding<@mesh, [{}, {"tp"}], partial = sum {"dp", "fsdp", "mb"}>]}
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  %1 = weft.reshard %0 from <@mesh, [{}, {"tp"}], partial = sum {"dp", "fsdp", "mb"}> to <@mesh, [{"fsdp", "tp"}, {}]>
       {weft.shardings = [#weft.sharding<@mesh, [{"fsdp", "tp"}, {}]>]} : tensor<96x96xf32>
  return %1 : tensor<96x96xf32>
}
