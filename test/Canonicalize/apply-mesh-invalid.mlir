// RUN: not weft-opt %s --weft-apply-mesh=mesh=ep=2 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not weft-opt %s --weft-apply-mesh=mesh=dp=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not weft-opt %s --weft-apply-mesh=mesh=dp 2>&1 | FileCheck %s --check-prefix=NOSIZE
// RUN: not weft-opt %s --weft-apply-mesh=mesh=dp=2,dp=4 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not weft-opt %s --weft-apply-mesh=mesh=dp=16777217 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not weft-opt %s --weft-apply-mesh=mesh=dp=3 2>&1 | FileCheck %s --check-prefix=SUBAXIS
// RUN: echo "func.func @f() { return }" | not weft-opt --weft-apply-mesh=mesh=dp=2 2>&1 | FileCheck %s --check-prefix=NOMESH
// RUN: weft-opt %S/Inputs/local.mlir --weft-apply-mesh=mesh=dp=4 --verify-diagnostics

// UNKNOWN: apply-mesh-invalid.mlir:[[@LINE+7]]:1: error: 'weft.mesh' op has no axis 'ep' to give size 2: #weft.mesh<["dp"=4]>
// ZERO: error: 'weft.mesh' op cannot take 'dp=0': expected an axis and a size of at least 1, as in dp=2
// NOSIZE: error: 'weft.mesh' op cannot take 'dp': expected an axis and a size of at least 1, as in dp=2
// TWICE: error: 'weft.mesh' op is given two sizes for axis 'dp'
// MANY: error: 'weft.mesh' op is not valid: mesh has more than 2^24 ranks
// SUBAXIS: sub-axis (1)2 does not divide axis 'dp' of size 3
// NOMESH: error: expected a weft.mesh to give sizes to, found none
weft.mesh @mesh = <["dp"=4]>
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp":(1)2}]>}) {
  return
}
