// RUN: weft-test-opt %s | weft-test-opt | FileCheck %s --check-prefix=TEXT
// RUN: weft-test-opt %s --mlir-print-op-generic | weft-test-opt | FileCheck %s --check-prefix=TEXT
// RUN: weft-test-opt %s --weft-raise --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding --weft-partition --weft-verify-local -cse -canonicalize -o %t.local
// RUN: FileCheck %s <%t.local
// RUN: weft-test-opt %t.local --weft-assign-channels --weft-schedule="machine=%repo/test/Schedule/Inputs/slow.json" | FileCheck %s --check-prefix=SCHEDULE
// RUN: weft-test-opt %t.local --test-lower-ops --weft-local-to-scheduled --weft-scheduled-to-planned | FileCheck %s --check-prefix=PLANNED

// An op that nothing in lib/ knows goes from the global step to the planned
// program of a rank: its rule lets axes cut rows and sums, its partitioning keeps
// padding out of the sum, its cost is its time, and its lowering makes a kernel.

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// TEXT: weft_test.weighted_sum %{{.*}}, %{{.*}} : tensor<16x16xf32>, tensor<16xf32> -> tensor<16xf32>

// Contributions of the ranks along tp wait for the addition. Two sums of 8x4
// elements take 128 ns on a machine of an operation per ns.
// CHECK-LABEL: func @cut
// CHECK: %[[A:.*]] = weft_test.weighted_sum %arg0, %arg1 : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
// CHECK: %[[B:.*]] = weft_test.weighted_sum %arg0, %{{.*}} : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]]
// CHECK: weft.all_reduce sum %[[C]] on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
// SCHEDULE-LABEL: func @cut
// SCHEDULE-SAME: compute_ns = 128
// SCHEDULE: weft_test.weighted_sum
// PLANNED-LABEL: func @cut
// PLANNED-NOT: weft_test
// PLANNED: weft_rt.fused
// PLANNED: weft_rt.start {{.*}}all_reduce
func.func @cut(%x: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
               %w: tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %0 = weft_test.weighted_sum %x, %w : tensor<16x16xf32>, tensor<16xf32> -> tensor<16xf32>
  %c = arith.constant dense<2.0> : tensor<16xf32>
  %v = arith.mulf %w, %c : tensor<16xf32>
  %1 = weft_test.weighted_sum %x, %v : tensor<16x16xf32>, tensor<16xf32> -> tensor<16xf32>
  %2 = arith.addf %0, %1 : tensor<16xf32>
  return %2 : tensor<16xf32>
}
