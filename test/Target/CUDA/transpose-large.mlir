// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s
// RUN: %python %S/Inputs/assemble.py sm_80,sm_90a,sm_100a,sm_120 %s | FileCheck %s --check-prefix=PTXAS

// Tiles of 64x64 elements of a large tensor, in rows 4 bytes longer.

// PTXAS: sm_80: 1 kernels
// PTXAS: sm_120: 1 kernels

#id = affine_map<(i, j) -> (i, j)>
#across = affine_map<(i, j) -> (j, i)>
module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[2048, 256, 0]>
  // CHECK: @weft_k0_shared() {{.*}} : !llvm.array<8448 x i8>
  // CHECK-COUNT-16: llvm.load {{.*}}!llvm.ptr<1> -> bf16
  // CHECK-COUNT-16: llvm.store {{.*}}!llvm.ptr<3>
  // CHECK: barrier.cta.sync
  // CHECK-COUNT-16: llvm.store {{.*}}!llvm.ptr<1>
  func.func @large(%x: tensor<4096x2048xbf16>) -> tensor<2048x4096xbf16> {
    %e = tensor.empty() : tensor<2048x4096xbf16>
    %y = linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<4096x2048xbf16>) outs(%e : tensor<2048x4096xbf16>) {
    ^bb0(%v: bf16, %o: bf16):
      %r = arith.negf %v : bf16
      linalg.yield %r : bf16
    } -> tensor<2048x4096xbf16>
    return %y : tensor<2048x4096xbf16>
  }
}
