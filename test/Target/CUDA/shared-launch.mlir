// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s

// Three tensors, one launch: two of one shape are calls of one function. A block
// finds its tensor by its number, in halves.

#id = affine_map<(i) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0(%[[A:.*]], %[[B:.*]], %[[C:.*]] : memref<1024xf32>, memref<64xf32>, memref<1024xf32>) over #weft_rt.launch_numbers<[3, 256, 0]>
  // CHECK: module @weft_device
  // CHECK: llvm.func ptx_kernelcc @weft_k0(%[[PA:.*]]: !llvm.ptr<1>, %[[PB:.*]]: !llvm.ptr<1>, %[[PC:.*]]: !llvm.ptr<1>) attributes {passthrough = {{.*}}"nvvm.reqntid", "256"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
  // CHECK: scf.if
  // CHECK: llvm.call @weft_k0_part0(%[[PA]], %{{.*}})
  // CHECK: scf.if
  // CHECK: llvm.call @weft_k0_part1(%[[PB]], %{{.*}})
  // CHECK: llvm.call @weft_k0_part0(%[[PC]], %{{.*}})
  // CHECK: llvm.func internal @weft_k0_part0(%{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: i64) attributes {passthrough = ["noinline"]}
  // CHECK-NOT: ctaid
  // CHECK: llvm.func internal @weft_k0_part1(
  func.func @f() {
    %a = weft_rt.buffer argument 0 : memref<1024xf32>
    %b = weft_rt.buffer argument 1 : memref<64xf32>
    %c = weft_rt.buffer argument 2 : memref<1024xf32>
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
    weft_rt.fused ins(%c : memref<1024xf32>) outs(%c : memref<1024xf32>) {
    ^bb0(%x: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "c", weft_rt.together = 0 : i64}
    return
  }
}
