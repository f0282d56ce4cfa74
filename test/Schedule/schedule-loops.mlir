// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json" | FileCheck %s

// A loop's body is ordered by itself; around it the loop is one piece of work,
// beside which collectives are on their way.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

// 128 ns for the gather in each of 3 rounds, and the matmuls.
// CHECK-LABEL: func @loop
// CHECK-SAME: compute_ns = 8576
func.func @loop(%x: tensor<16x8xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK: %[[F:.*]] = weft.all_gather %arg2
  // CHECK: scf.for
  // CHECK: weft.all_gather %arg1
  // CHECK: weft.wait
  // CHECK: weft.matmul
  // CHECK: scf.yield
  // CHECK: weft.wait %[[F]]
  // CHECK: weft.matmul
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %x) -> tensor<16x8xf32> {
    %w = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %z = weft.matmul %y, %w {indexing_maps = [#lhs, #rhs, #out]} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
    scf.yield %z : tensor<16x8xf32>
  }
  %2 = weft.all_gather %b on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = weft.matmul %1, %2 {indexing_maps = [#lhs, #rhs, #out]} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}
