// Options that are wrong, and the check of a module that has orders already.
// RUN: not weft-opt %s --weft-assign-orders="axes=tp leaves=0" 2>&1 | FileCheck %s --check-prefix=LEAVES
// RUN: not weft-opt %s --weft-assign-orders="axes=tp partials=f16" 2>&1 | FileCheck %s --check-prefix=PARTIALS
// RUN: not weft-opt %s --weft-assign-orders="axes=tp,tp" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not weft-opt %s --weft-assign-orders="axes=mesh,tp" 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not weft-opt %s --weft-assign-orders="axes=tp leaves=12" 2>&1 | FileCheck %s --check-prefix=TWELVE
// RUN: not weft-opt %s --weft-assign-orders="axes=tp" --weft-apply-mesh="mesh=tp=16" --weft-assign-orders 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHANGED
// RUN: weft-opt %s --weft-assign-orders="axes=tp" --weft-apply-mesh="mesh=tp=8" --weft-assign-orders -o /dev/null

// LEAVES: error: invariance needs at least 1 leaf, got 0
// PARTIALS: error: partial sums are f32 or bf16, not f16
// TWICE: error: axis "tp" is listed twice
// ALL: options.mlir:[[@LINE+3]]:1: error: "mesh" is for all axes, and cannot be listed with others: expected mesh, or some of "dp", "tp"
// TWELVE: axis "tp" of size 2 cannot be invariant with 12 leaves: sizes that can are 1, 3, 6 and 12
// CHANGED: axis "tp" of size 16 cannot be invariant with 8 leaves
weft.mesh @mesh = <["dp"=3, "tp"=2]>
