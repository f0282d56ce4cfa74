// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s

// Launches of other parts together, and a kernel by itself, which comes first, call
// the code that a launch has.

#id = affine_map<(i) -> (i)>

module attributes {weft.target = #weft.target<"cuda", {cubin = "never"}>} {
  // CHECK: weft_rt.launch @weft_k2({{.*}} : memref<1024xf32>) over #weft_rt.launch_numbers<[1, 256, 0]>
  // CHECK: weft_rt.launch @weft_k0(
  // CHECK: weft_rt.launch @weft_k1({{.*}} : memref<64xf32>, memref<96xf32>) over #weft_rt.launch_numbers<[2, 256, 0]>
  // CHECK: module @weft_device
  // CHECK: llvm.func internal @weft_k0_part0(
  // CHECK: llvm.func internal @weft_k0_part1(
  // CHECK: llvm.func ptx_kernelcc @weft_k1(
  // CHECK: llvm.call @weft_k0_part1(
  // CHECK: llvm.call @weft_k1_part1(
  // CHECK-NOT: @weft_k1_part0
  // CHECK: llvm.func internal @weft_k1_part1(
  // CHECK: llvm.func ptx_kernelcc @weft_k2(
  // CHECK: llvm.call @weft_k0_part0(
  // CHECK-NOT: llvm.func internal
  func.func @f() {
    %a = weft_rt.buffer argument 0 : memref<1024xf32>
    %b = weft_rt.buffer argument 1 : memref<64xf32>
    %c = weft_rt.buffer argument 2 : memref<64xf32>
    %d = weft_rt.buffer argument 3 : memref<96xf32>
    %g = weft_rt.buffer argument 4 : memref<1024xf32>
    weft_rt.fused ins(%g : memref<1024xf32>) outs(%g : memref<1024xf32>) {
    ^bb0(%x: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "g"}
    weft_rt.fused ins(%a : memref<1024xf32>) outs(%a : memref<1024xf32>) {
    ^bb0(%x: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "a", weft_rt.together = 0 : i64}
    weft_rt.fused ins(%b : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "b", weft_rt.together = 0 : i64}
    weft_rt.fused ins(%c : memref<64xf32>) outs(%c : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      weft_rt.yield %r : tensor<64xf32>
    } {weft.op = "c", weft_rt.together = 1 : i64}
    weft_rt.fused ins(%d : memref<96xf32>) outs(%d : memref<96xf32>) {
    ^bb0(%x: tensor<96xf32>):
      %e = tensor.empty() : tensor<96xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<96xf32>) outs(%e : tensor<96xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<96xf32>
      weft_rt.yield %r : tensor<96xf32>
    } {weft.op = "d", weft_rt.together = 1 : i64}
    return
  }
}
