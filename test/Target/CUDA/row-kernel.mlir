// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels --split-input-file | FileCheck %s

// A sum over each row of 1000, of few rows: 128 threads a row, which load all
// of their points before they add. Within warps they hand sums on, then by way
// of memory.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[4, 256, 0]>
  // CHECK: module @weft_device attributes {weft.target = #weft.target<"cuda">}
  // CHECK: llvm.mlir.global internal @weft_k0_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i8>
  // CHECK: llvm.func ptx_kernelcc @weft_k0(%{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.noalias})
  // CHECK-SAME: passthrough = {{.*}}"nvvm.reqntid", "256"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"
  // CHECK: scf.for
  // CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> f32
  // CHECK-NOT: llvm.load
  // CHECK-COUNT-8: arith.addf
  // CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
  // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> f32
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

// -----

// A warp a row, which reads it once: nothing of a block waits.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[2048, 256, 0]>
  // CHECK-NOT: llvm.mlir.global
  // CHECK: llvm.func ptx_kernelcc @weft_k0(
  // CHECK: scf.for
  // CHECK-COUNT-8: llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: "llvm.nvvm.shfl.sync.bfly.i32"
  // CHECK: "llvm.nvvm.bar.warp.sync"
  // CHECK-NOT: llvm.load
  // CHECK-COUNT-8: llvm.store
  // CHECK-NOT: } else {
  // CHECK-NOT: barrier.cta
  func.func @f(%x: tensor<16384x256xf32>) -> tensor<16384x256xf32> {
    %zero = arith.constant 0.0 : f32
    %s = tensor.empty() : tensor<16384xf32>
    %z = linalg.fill ins(%zero : f32) outs(%s : tensor<16384xf32>) -> tensor<16384xf32>
    %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<16384x256xf32>) outs(%z : tensor<16384xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<16384xf32>
    %e = tensor.empty() : tensor<16384x256xf32>
    %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%x, %sum : tensor<16384x256xf32>, tensor<16384xf32>) outs(%e : tensor<16384x256xf32>) {
    ^bb0(%v: f32, %t: f32, %o: f32):
      %r = arith.subf %v, %t : f32
      linalg.yield %r : f32
    } -> tensor<16384x256xf32>
    return %y : tensor<16384x256xf32>
  }
}

// -----

// Long rows that are read once are no code for each element: a thread takes
// four runs of four neighbours at a time, in a loop.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: llvm.func ptx_kernelcc @weft_k0(
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<1> -> f32
  // CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<1>
  // CHECK: llvm.return
  func.func @f(%x: tensor<512x8192xf32>) -> tensor<512xf32> {
    %zero = arith.constant 0.0 : f32
    %s = tensor.empty() : tensor<512xf32>
    %z = linalg.fill ins(%zero : f32) outs(%s : tensor<512xf32>) -> tensor<512xf32>
    %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<512x8192xf32>) outs(%z : tensor<512xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<512xf32>
    return %sum : tensor<512xf32>
  }
}
