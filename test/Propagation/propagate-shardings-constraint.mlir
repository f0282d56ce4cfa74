// RUN: weft-opt %s -split-input-file --weft-propagate-shardings | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-propagate-shardings --remarks-filter="weft-.*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Four heads on eight ranks: constraints are taken as far as there are heads,
// so that no rank is without.

weft.mesh @mesh = <["tp"=8]>

// CHECK-LABEL: func.func @heads
// CHECK: weft.shard %{{.*}} to <@mesh, [{}, {"tp":(1)4}, {}]>
// REMARK: [{}, {"tp"}, {}] leaves ranks without elements, [{}, {"tp":(1)4}, {}] is taken
func.func @heads(%x: tensor<8x4x16xf32>) -> tensor<8x4x16xf32> {
  %0 = weft.shard %x to <@mesh, [{}, {"tp"}, {}]> : tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

// -----

// Two axes on three rows: one of them would not do.

weft.mesh @mesh = <["dp"=2, "tp"=2]>

// CHECK-LABEL: func.func @uneven
// CHECK: weft.shard %{{.*}} to <@mesh, [{"dp", "tp"}]>
func.func @uneven(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = weft.shard %x to <@mesh, [{"dp", "tp"}]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
