// RUN: weft-opt %s --weft-schedule="policy=sync machine=%S/Inputs/slow.json" | FileCheck %s --check-prefixes=ALL,SYNC
// RUN: weft-opt %s --weft-schedule="policy=next-layer machine=%S/Inputs/slow.json" | FileCheck %s --check-prefixes=ALL,AHEAD
// RUN: weft-opt %s --weft-schedule="policy=greedy machine=%S/Inputs/slow.json" | FileCheck %s --check-prefixes=ALL,EARLY
// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json" | FileCheck %s --check-prefixes=ALL,EARLY
// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json memory-limit=2688" | FileCheck %s --check-prefixes=ALL,TIGHT

// Requirements: gather/on-demand, gather/prefetch-order, gather/free-early,
// gather/order-after-writer.

// Three weights of 8x8 f32 on two ranks: a gather brings 128 B in 128 ns; each
// matmul of 16x8x8 takes 2048 ns. Arguments and results are 512 + 3 * 128 + 512
// bytes; a product takes 512, a gathered weight 256: 2688 bytes at matmul #1.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

// ALL-LABEL: func @forward
// SYNC-SAME: exposed_ns = 384 {{.*}} step_ns = 6528
// AHEAD-SAME: exposed_ns = 128 {{.*}} step_ns = 6272
// EARLY-SAME: exposed_ns = 128 {{.*}} step_ns = 6272
// TIGHT-SAME: cause = "memory", exposed_ns = 128 : i64, op = "all_gather params.layers.2.w", why = "limited by memory: 256 B more would hide it"
// TIGHT-SAME: step_ns = 6400
func.func @forward(%x: tensor<16x8xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<16x8xf32> {
  // The gathers stand in front of all that is computed, as fusion leaves them.
  %0 = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather params.layers.0.w"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = weft.all_gather %b on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather params.layers.1.w"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %2 = weft.all_gather %c on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather params.layers.2.w"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // Each weight is gathered where it is needed.
  // SYNC-NEXT: %[[F:.*]] = weft.all_gather %arg1
  // SYNC-NEXT: %[[A:.*]] = weft.wait %[[F]]
  // SYNC-NEXT: weft.matmul %arg0, %[[A]]
  // SYNC-NEXT: weft.all_gather %arg2
  // SYNC-NEXT: weft.wait
  // SYNC-NEXT: weft.matmul
  // SYNC-NEXT: weft.all_gather %arg3
  // SYNC-NEXT: weft.wait
  // SYNC-NEXT: weft.matmul
  // One ahead: while a layer computes, the next one is gathered.
  // AHEAD-NEXT: %[[F0:.*]] = weft.all_gather %arg1
  // AHEAD-NEXT: %[[F1:.*]] = weft.all_gather %arg2
  // AHEAD-NEXT: %[[A:.*]] = weft.wait %[[F0]]
  // AHEAD-NEXT: weft.matmul %arg0, %[[A]]
  // AHEAD-NEXT: %[[F2:.*]] = weft.all_gather %arg3
  // AHEAD-NEXT: weft.wait %[[F1]]
  // AHEAD-NEXT: weft.matmul
  // AHEAD-NEXT: weft.wait %[[F2]]
  // AHEAD-NEXT: weft.matmul
  // All that the link can take, while the first matmul computes.
  // EARLY: %[[F0:.*]] = weft.all_gather %arg1
  // EARLY: weft.matmul %arg0
  // EARLY: return
  // Beside the second product there is no room for the last weight.
  // TIGHT-NEXT: weft.all_gather %arg1
  // TIGHT-NEXT: weft.all_gather %arg2
  // TIGHT-NEXT: weft.wait
  // TIGHT-NEXT: weft.matmul
  // TIGHT-NEXT: weft.wait
  // TIGHT-NEXT: weft.matmul
  // TIGHT-NEXT: weft.all_gather %arg3
  // TIGHT-NEXT: weft.wait
  // TIGHT-NEXT: weft.matmul
  %3 = weft.matmul %x, %0 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  %4 = weft.matmul %3, %1 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  %5 = weft.matmul %4, %2 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #2"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  return %5 : tensor<16x8xf32>
}
