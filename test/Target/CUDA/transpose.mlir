// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s
// RUN: %python %S/Inputs/assemble.py sm_80,sm_90a,sm_100a,sm_120 %s | FileCheck %s --check-prefix=PTXAS

// A transpose reads and writes neighbours: a tile of 32x32 elements waits in
// shared memory, in rows of 33; of large tensors 64x64, in rows 4 bytes longer.
// A thread loads several before it stores any. A block has one tile.

#id = affine_map<(i, j) -> (i, j)>
#across = affine_map<(i, j) -> (j, i)>

// PTXAS: sm_80: 1 kernels
// PTXAS: sm_120: 1 kernels
module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[6, 256, 0]>
  // CHECK: weft_rt.launch @weft_k1({{.*}}) over #weft_rt.launch_numbers<[1, 256, 0]>
  // CHECK: module @weft_device
  // CHECK: llvm.mlir.global internal @weft_k0_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4224 x i8>
  // CHECK: llvm.func ptx_kernelcc @weft_k0(
  // CHECK: scf.for
  // CHECK-COUNT-4: llvm.load {{.*}}!llvm.ptr<1> -> f32
  // CHECK-COUNT-4: llvm.store {{.*}}!llvm.ptr<3>
  // CHECK: barrier.cta.sync
  // CHECK-NOT: scf.for
  // CHECK-COUNT-4: llvm.load {{.*}}!llvm.ptr<3> -> f32
  // CHECK-COUNT-4: llvm.store {{.*}}!llvm.ptr<1>
  // CHECK-NOT: barrier.cta.sync
  // CHECK: llvm.func ptx_kernelcc @weft_k1(
  // CHECK-NOT: barrier.cta.sync
  func.func @f(%x: tensor<64x96xf32> {weft.name = "x"}, %thin: tensor<64x8xf32> {weft.name = "thin"})
      -> (tensor<96x64xf32> {weft.name = "y"}, tensor<8x64xf32> {weft.name = "z"}) {
    %e = tensor.empty() : tensor<96x64xf32>
    %y = linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<64x96xf32>) outs(%e : tensor<96x64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.negf %v : f32
      linalg.yield %r : f32
    } -> tensor<96x64xf32>
    %f = tensor.empty() : tensor<8x64xf32>
    %z = linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
        ins(%thin : tensor<64x8xf32>) outs(%f : tensor<8x64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.negf %v : f32
      linalg.yield %r : f32
    } -> tensor<8x64xf32>
    return %y, %z : tensor<96x64xf32>, tensor<8x64xf32>
  }
}
