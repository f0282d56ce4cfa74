// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-lower-cuda | FileCheck %s

// An update in place: the kernel is declared, and its code is in the image.
// Four neighbouring elements are one access: buffers start at multiples of 16
// bytes.

#id = affine_map<(i) -> (i)>

// CHECK: module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>} {
  // CHECK: llvm.mlir.global internal constant @weft_ptx("
  // CHECK: .version 8.0
  // CHECK: .target sm_90
  // CHECK: .visible .entry weft_k0(
  // CHECK: .param .u64 .ptr .global .align 1 weft_k0_param_0
  // CHECK: .reqntid 256
  // CHECK-NOT: ld.global.b32
  // CHECK: ld.global.v4.b32
  // CHECK: st.global.v4.b32
  // CHECK-NOT: st.global.b32
  // CHECK: \00")
  func.func @f(%w: tensor<4096xf32> {weft.name = "w"}, %g: tensor<4096xf32> {weft.name = "g"})
      -> (tensor<4096xf32> {weft.name = "w", weft.alias = 0 : index}) {
    %e = tensor.empty() : tensor<4096xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%w, %g : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
    } -> tensor<4096xf32>
    return %0 : tensor<4096xf32>
  }
}
