// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json" | FileCheck %s

// Requirements: gather/wgrad-rs, gather/grad-ready, gather/main-grad-microbatch.

// Two microbatches add to a main gradient, which is donated. The reduction of
// each is started as soon as it is computed, beside the next product; the sum
// over dp starts once both are added. Nothing is waited for before it is needed,
// and the last reduction is waited for like all others.

#lhs = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data

// CHECK-LABEL: func @gradients
func.func @gradients(%x0: tensor<16x8xf32>, %y0: tensor<16x8xf32>, %x1: tensor<16x8xf32>, %y1: tensor<16x8xf32>,
    %main: tensor<4x8xf32>) -> (tensor<4x8xf32> {weft.alias = 4 : index}) {
  // CHECK: %[[G0:.*]] = weft.matmul %arg0, %arg1
  // CHECK-NEXT: %[[F0:.*]] = weft.reduce_scatter sum %[[G0]]
  // CHECK-NEXT: %[[G1:.*]] = weft.matmul %arg2, %arg3
  // CHECK-NEXT: weft.wait %[[F0]]
  // CHECK-NEXT: %[[F1:.*]] = weft.reduce_scatter sum %[[G1]]
  // CHECK-NEXT: weft_rt.fused
  // CHECK: weft.wait %[[F1]]
  // CHECK: %[[SUM:.*]] = weft_rt.fused
  // CHECK: %[[F2:.*]] = weft.all_reduce sum %[[SUM]]
  // CHECK-NEXT: %[[R:.*]] = weft.wait %[[F2]]
  // CHECK-NEXT: return %[[R]]
  %g0 = weft.matmul %x0, %y0 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<16x8xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %r0 = weft.reduce_scatter sum %g0 on @mesh <{"fsdp"}> dims [0] {channel = @reduce.fsdp, weft.op = "reduce_scatter #0"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %a0 = weft_rt.fused ins(%main, %r0 : tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %t = arith.addf %u, %v : f32
      linalg.yield %t : f32
    } -> tensor<4x8xf32>
    weft_rt.yield %s : tensor<4x8xf32>
  } {weft.op = "kernel #0"}
  %g1 = weft.matmul %x1, %y1 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<16x8xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %r1 = weft.reduce_scatter sum %g1 on @mesh <{"fsdp"}> dims [0] {channel = @reduce.fsdp, weft.op = "reduce_scatter #1"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %a1 = weft_rt.fused ins(%a0, %r1 : tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %t = arith.addf %u, %v : f32
      linalg.yield %t : f32
    } -> tensor<4x8xf32>
    weft_rt.yield %s : tensor<4x8xf32>
  } {weft.op = "kernel #1"}
  %d = weft.all_reduce sum %a1 on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce #0"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}
