// RUN: not weft-opt %s --weft-schedule="policy=fast" 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not weft-opt %s --weft-schedule="machine=h101" 2>&1 | FileCheck %s --check-prefix=MACHINE

// POLICY: error: unknown policy 'fast', expected sync, next-layer, greedy or best
// MACHINE: error: no machine 'h101': not one of
func.func @nothing() {
  return
}
