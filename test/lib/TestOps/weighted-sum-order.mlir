// RUN: weft-test-opt %s --weft-assign-orders="axes=tp,dp leaves=8 min-leaf=16" -o %t.ordered
// RUN: FileCheck %s <%t.ordered
// RUN: weft-test-opt %t.ordered --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding --weft-partition --weft-verify-local -cse -canonicalize -o %t.local
// RUN: FileCheck %s --check-prefix=LOCAL <%t.local
// RUN: weft-test-opt %t.local --test-lower-ops | FileCheck %s --check-prefix=LOWERED
// RUN: sed 's/leaves = 4/leaves = 5/' %t.local | not weft-test-opt --weft-verify-local 2>&1 | FileCheck %s --check-prefix=UNEVEN

// An op that nothing in lib/ knows and that says that it needs an order gets one
// in an invariant program; each rank has its part of the leaves, and the lowering
// keeps it.

weft.mesh @mesh = <["dp"=2, "tp"=2]>

// CHECK-LABEL: func @ordered
// CHECK: weft_test.weighted_sum {{.*}} {weft.order = #weft.order<leaves = 8>}
// LOCAL-LABEL: func @ordered
// LOCAL: %[[SUM:.*]] = weft_test.weighted_sum {{.*}} {weft.order = #weft.order<leaves = 4>} : tensor<8x64xf32>
// LOCAL: weft.all_reduce sum %[[SUM]] on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>}
// LOWERED: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// LOWERED-SAME: attrs = {weft.order = #weft.order<leaves = 4>}
// UNEVEN: 'weft_test.weighted_sum' op has the order #weft.order<leaves = 5>, but sums 64 elements
func.func @ordered(%x: tensor<16x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                   %w: tensor<128xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %0 = weft_test.weighted_sum %x, %w : tensor<16x128xf32>, tensor<128xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
