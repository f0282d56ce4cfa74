// RUN: weft-opt %s --weft-apply-mesh=mesh=dp=4,tp=1 | FileCheck %s

// Axes that are not named keep their size.

// CHECK: weft.mesh @mesh = <["dp"=4, "fsdp"=2, "tp"=1]>
weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>
// CHECK: #weft.sharding<@mesh, [{"dp", "fsdp"}]>
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>}) {
  return
}
