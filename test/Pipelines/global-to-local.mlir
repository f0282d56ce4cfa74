// RUN: weft-opt %s --weft-global-to-local | FileCheck %s
// RUN: weft-opt %s --weft-global-to-local="mesh=fsdp=4" | FileCheck %s --check-prefix=FOUR
// RUN: weft-opt %s --weft-canonicalize-global="infer-storage=false" | FileCheck %s --check-prefix=CANONICAL

// A weight gradient: contributions of the batch's shards are summed, and each
// rank keeps its part of the weight's.

weft.mesh @mesh = <["fsdp"=2]>

// CHECK-LABEL: func @gradient
// CHECK: weft.matmul {{.*}} tensor<4x8xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
// CHECK: weft.reduce_scatter sum {{.*}} on @mesh <{"fsdp"}> dims [0] : (tensor<8x16xf32>) -> tensor<4x16xf32>
// FOUR: weft.reduce_scatter sum {{.*}} (tensor<8x16xf32>) -> tensor<2x16xf32>
// CANONICAL: weft.matmul
func.func @gradient(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
                    %g: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>})
    -> (tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>}) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %w = linalg.contract indexing_maps = [
      affine_map<(k, n, b) -> (b, k)>, affine_map<(k, n, b) -> (b, n)>, affine_map<(k, n, b) -> (k, n)>]
    ins(%x, %g : tensor<8x8xf32>, tensor<8x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w : tensor<8x16xf32>
}
