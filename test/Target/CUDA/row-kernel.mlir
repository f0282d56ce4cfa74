// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s

// A sum over each row of 1000: a block a row, of 256 threads, which wait for
// each other before halves are joined.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[8, 256, 0]>
  // CHECK: module @weft_device attributes {weft.target = #weft.target<"cuda">}
  // CHECK: llvm.mlir.global internal @weft_k0_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>
  // CHECK: llvm.func ptx_kernelcc @weft_k0(%{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.noalias})
  // CHECK-SAME: passthrough = {{.*}}"nvvm.reqntid", "256"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"
  // CHECK: scf.for
  // CHECK: arith.addf
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
  func.func @f(%x: tensor<8x1000xf32>) -> tensor<8xf32> {
    %zero = arith.constant 0.0 : f32
    %s = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
    %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<8x1000xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    return %sum : tensor<8xf32>
  }
}
