// RUN: weft-opt %s --weft-global-to-local --weft-local-to-scheduled 2>&1 | FileCheck %s
// RUN: weft-opt %s --weft-global-to-local="mesh=fsdp=1" --weft-local-to-scheduled | FileCheck %s --check-prefix=INACTIVE --implicit-check-not=weft.channel --implicit-check-not=weft.wait
// RUN: weft-opt %s --weft-global-to-local="mesh=fsdp=1" --weft-local-to-scheduled | weft-opt --weft-scheduled-to-planned | FileCheck %s --check-prefix=PLANNED
// RUN: weft-opt %s --weft-global-to-local --weft-local-to-scheduled 2>&1 >/dev/null | count 0
// RUN: weft-opt %s --weft-global-to-local --weft-local-to-scheduled | weft-opt --weft-verify-scheduled --weft-scheduled-to-planned -o /dev/null

// From a step to its scheduled form. An axis of size 1 leaves nothing behind
// (gather/inactive); nothing is printed unless asked for (gather/quiet). The
// gather and the reduction of one axis have channels of their own
// (channel/ag-rs-split).

weft.mesh @mesh = <["fsdp"=2]>

// CHECK: weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
// CHECK-NEXT: weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
// CHECK-LABEL: func @step
// CHECK: %[[F:.*]] = weft.all_gather %{{.*}} {channel = @gather.fsdp, weft.op = "all_gather w"} : (tensor<4x16xf32>) -> !weft.future<tensor<8x16xf32>>
// CHECK: %[[G:.*]] = weft.wait %[[F]]
// CHECK: weft.matmul %{{.*}}, %[[G]] {{.*}}weft.op = "matmul w"
// CHECK: weft.matmul {{.*}}weft.op = "matmul gradient of w"
// CHECK: %[[S:.*]] = weft.reduce_scatter sum {{.*}} {channel = @reduce.fsdp, weft.op = "reduce_scatter w"}
// CHECK: %[[D:.*]] = weft.wait %[[S]]
// CHECK: weft_rt.fused ins({{.*}}%[[D]]
// CHECK: } {weft.op = "kernel #{{[0-9]+}}"}

// INACTIVE-LABEL: func @step
// INACTIVE: weft.matmul
// INACTIVE: weft_rt.fused
// PLANNED-NOT: weft_rt.start
// PLANNED: weft_rt.gemm {{.*}}weft.op = "matmul w"
func.func @step(
    %w: tensor<8x16xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>},
    %x: tensor<8x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>})
    -> (tensor<8x16xf32> {weft.name = "w", weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>}) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %d = linalg.contract indexing_maps = [
      affine_map<(k, n, b) -> (b, k)>, affine_map<(k, n, b) -> (b, n)>, affine_map<(k, n, b) -> (k, n)>]
      ins(%x, %y : tensor<8x8xf32>, tensor<8x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = arith.subf %w, %d : tensor<8x16xf32>
  return %n : tensor<8x16xf32>
}
