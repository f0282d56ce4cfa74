// RUN: sed 's/{weft.target/{weft.invariance = #weft.invariance<axes = [], leaves = 8>, weft.target/' %s \
// RUN:   | weft-opt --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-lower-cuda | FileCheck %s
// RUN: weft-opt %s --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-lower-cuda | FileCheck %s --check-prefix=FAST
// RUN: %python %S/Inputs/assemble.py sm_80,sm_90a,sm_100a,sm_120 %s | FileCheck %s --check-prefix=PTXAS

// PTXAS: sm_80: 1 kernels
// PTXAS: sm_120: 1 kernels

// Quotients of a row by its maximum: the inverse is taken once, where
// magnitudes allow it, and where they do not, it divides. What a product is too
// much by is taken from it: so -0 stays -0. Results are rounded to bf16 by the
// instruction for two numbers, which has a NaN of its own. Without invariance
// the NaN stays, and products with the inverse, which are rounded to bf16, need
// no corrections.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90"}>} {
  // CHECK: .visible .entry weft_k0(
  // CHECK: min.u32
  // CHECK: max.u32
  // CHECK: rcp.rn.f32 {{\\}}09[[INVERSE:%r[0-9]+]], [[DIVISOR:%r[0-9]+]];
  // CHECK-NOT: div.rn.f32
  // CHECK: neg.f32 {{\\}}09[[FROM:%r[0-9]+]], [[DIVIDEND:%r[0-9]+]];
  // CHECK: neg.f32 {{\\}}09[[DOWN:%r[0-9]+]], [[INVERSE]];
  // CHECK: mul.rn.f32 {{\\}}09[[PRODUCT:%r[0-9]+]], [[DIVIDEND]], [[INVERSE]];
  // CHECK: fma.rn.f32 {{\\}}09[[TOO_MUCH:%r[0-9]+]], [[PRODUCT]], [[DIVISOR]], [[FROM]];
  // CHECK: fma.rn.f32 {{\\}}09{{%r[0-9]+}}, [[TOO_MUCH]], [[DOWN]], [[PRODUCT]];
  // CHECK: div.rn.f32
  // CHECK-NOT: cvt.rn.bf16.f32
  // CHECK: cvt.rn.bf16x2.f32
  // CHECK: 32704
  // CHECK-NOT: weft_round

  // FAST: .visible .entry weft_k0(
  // FAST-NOT: min.u32
  // FAST: rcp.rn.f32
  // FAST-NOT: fma.rn.f32
  // FAST: div.rn.f32
  // FAST: cvt.rn.bf16x2.f32
  // FAST-NOT: 32704
  func.func @f(%x: tensor<16384x256xf32>) -> tensor<16384x256xbf16> {
    %low = arith.constant 0xFF800000 : f32
    %s = tensor.empty() : tensor<16384xf32>
    %z = linalg.fill ins(%low : f32) outs(%s : tensor<16384xf32>) -> tensor<16384xf32>
    %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<16384x256xf32>) outs(%z : tensor<16384xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.maximumf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<16384xf32>
    %e = tensor.empty() : tensor<16384x256xbf16>
    %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%x, %most : tensor<16384x256xf32>, tensor<16384xf32>) outs(%e : tensor<16384x256xbf16>) {
    ^bb0(%v: f32, %t: f32, %o: bf16):
      %q = arith.divf %v, %t : f32
      %r = arith.truncf %q : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<16384x256xbf16>
    return %y : tensor<16384x256xbf16>
  }
}
