// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s

// Arguments, results and the arena start at multiples of 64 bytes. So where a
// kernel's buffers lie says whether a thread may take neighbours at once; only
// of places that a run of the program computes has the kernel to find out.

#id = affine_map<(i) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: llvm.func ptx_kernelcc @weft_k0(
  // CHECK-NOT: ptrtoint
  // CHECK-COUNT-2: llvm.intr.assume
  // CHECK-COUNT-4: llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: llvm.return
  // CHECK: llvm.func ptx_kernelcc @weft_k1(
  // CHECK-NOT: ptrtoint
  // CHECK-NOT: llvm.intr.assume
  // CHECK-COUNT-1: llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: llvm.return
  // CHECK: llvm.func ptx_kernelcc @weft_k2(
  // CHECK: llvm.ptrtoint
  // CHECK: scf.if
  // CHECK-COUNT-4: llvm.load
  // CHECK: } else {
  // CHECK-COUNT-1: llvm.load
  // CHECK: llvm.return
  func.func @f(%place: index) {
    %x = weft_rt.buffer argument 0 : memref<4100xf32>
    %y = weft_rt.buffer arena 64 : memref<1024xf32>
    %aligned = weft_rt.view %x at 4 : memref<4100xf32> to memref<1024xf32>
    %other = weft_rt.view %x at 1 : memref<4100xf32> to memref<1024xf32>
    %unknown = weft_rt.view %x at 0 plus %place : memref<4100xf32> to memref<1024xf32>
    weft_rt.fused ins(%aligned : memref<1024xf32>) outs(%y : memref<1024xf32>) {
    ^bb0(%a: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "a"}
    weft_rt.fused ins(%other : memref<1024xf32>) outs(%y : memref<1024xf32>) {
    ^bb0(%a: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "b"}
    weft_rt.fused ins(%unknown : memref<1024xf32>) outs(%y : memref<1024xf32>) {
    ^bb0(%a: tensor<1024xf32>):
      %e = tensor.empty() : tensor<1024xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<1024xf32>
      weft_rt.yield %r : tensor<1024xf32>
    } {weft.op = "c"}
    return
  }
}
