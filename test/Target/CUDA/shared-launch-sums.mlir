// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-share-launches --weft-outline-kernels | FileCheck %s
// RUN: %python %S/Inputs/assemble.py sm_80,sm_90a,sm_100a,sm_120 %s | FileCheck %s --check-prefix=PTXAS

// Sums and points in one launch: 4 rows of 1000, 3 of 600, and a block of
// points. What sums have of shared memory is at one place.

// PTXAS: sm_80: 1 kernels
// PTXAS: sm_120: 1 kernels

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.launch_numbers<[5, 256, 0]>
  // CHECK: module @weft_device
  // CHECK: llvm.mlir.global internal @weft_parts_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i8>
  // CHECK-NOT: llvm.mlir.global
  // CHECK: llvm.func ptx_kernelcc @weft_k0(
  // CHECK-COUNT-3: llvm.func internal @weft_k0_part
  func.func @f(%x: tensor<4x1000xf32> {weft.name = "x"}, %y: tensor<3x600xf32> {weft.name = "y"}, %z: tensor<64xf32> {weft.name = "z"})
      -> (tensor<4xf32> {weft.name = "a"}, tensor<3xf32> {weft.name = "b"}, tensor<64xf32> {weft.name = "c"}) {
    %zero = arith.constant 0.0 : f32
    %e4 = tensor.empty() : tensor<4xf32>
    %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
    %a = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<4x1000xf32>) outs(%z4 : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %e3 = tensor.empty() : tensor<3xf32>
    %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>
    %b = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%y : tensor<3x600xf32>) outs(%z3 : tensor<3xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<3xf32>
    %e = tensor.empty() : tensor<64xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%z : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.negf %v : f32
      linalg.yield %r : f32
    } -> tensor<64xf32>
    return %a, %b, %c : tensor<4xf32>, tensor<3xf32>, tensor<64xf32>
  }
}
