// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-prepare-kernels | FileCheck %s --check-prefix=GONE

// CHECK-LABEL: func @part_offset
// GONE-LABEL: func @part_offset
func.func @part_offset() -> index {
  // GONE-NEXT: %[[C:.*]] = arith.constant 3 : index
  // GONE-NEXT: return %[[C]]
  %c3 = arith.constant 3 : index
  // CHECK: weft.part_offset %c3
  %0 = weft.part_offset %c3
  return %0 : index
}
