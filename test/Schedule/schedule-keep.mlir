// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json" | FileCheck %s --check-prefix=TWICE
// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json memory-limit=1000000" | FileCheck %s --check-prefix=ONCE

// A weight that the forward and the backward pass gather. With memory to spare
// it is gathered once, and stays.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["fsdp"=2, "t"=4]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @gather.t on @mesh <{"t"}> purpose gather

// TWICE-LABEL: func @step
// TWICE-SAME: kept_gathers = 0
// TWICE-COUNT-2: weft.all_gather
// ONCE-LABEL: func @step
// ONCE-SAME: kept_gathers = 1
// ONCE: weft.all_gather
// ONCE-NEXT: %[[W:.*]] = weft.wait
// ONCE-NEXT: weft.matmul %arg0, %[[W]]
// ONCE-NEXT: weft.matmul %{{.*}}, %[[W]]
// ONCE-NEXT: return
func.func @step(%x: tensor<16x8xf32>, %a: tensor<4x8xf32>) -> tensor<16x8xf32> {
  %0 = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather a"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = weft.matmul %x, %0 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  %2 = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather a #1"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = weft.matmul %1, %2 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// What other members have of one tensor: neither is kept for the other.

// ONCE-LABEL: func @two_permutes
// ONCE-SAME: kept_gathers = 0
// ONCE-DAG: weft.permute %arg0 on @mesh <{"t"}> sources [1, 0, 3, 2]
// ONCE-DAG: weft.permute %arg0 on @mesh <{"t"}> sources [2, 3, 0, 1]
// ONCE: return
func.func @two_permutes(%x: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = weft.permute %x on @mesh <{"t"}> sources [1, 0, 3, 2] {channel = @gather.t, weft.op = "permute x"} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = weft.permute %x on @mesh <{"t"}> sources [2, 3, 0, 1] {channel = @gather.t, weft.op = "permute x #1"} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16x8xf32>
}
