// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func @axis_index
func.func @axis_index() -> index {
  // CHECK: weft.axis_index @mesh <{"dp", "tp":(1)2}>
  %0 = weft.axis_index @mesh <{"dp", "tp":(1)2}>
  return %0 : index
}
