// RUN: weft-opt %s --weft-lower-quantization --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s

// Squares that are computed together are cast line by line, as they lie, not
// one after the other: the loop over lines is around the one over blocks. The
// next ones are fetched by these loops, though magnitudes read another view.

// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: weft.multiplier_of
// CHECK: scf.for %[[LINE:.*]] = %{{.*}} to
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK: "llvm.intr.prefetch"
// CHECK: scf.for %{{.*}} = %{{.*}} to
// CHECK: weft.round_f8
// CHECK: llvm.return
func.func @squares(%x: tensor<256x256xbf16> {weft.name = "x"}) -> (tensor<256x256xf8E4M3FN>, tensor<16x16xf8E8M0FNU>) {
  %a = weft.amax %x {blocks = array<i64: 16, 16>} : tensor<256x256xbf16> -> tensor<16x16xf32>
  %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf8E8M0FNU>)
  %q = weft.quantize %x, %m : tensor<256x256xbf16>, tensor<16x16xf32> -> tensor<256x256xf8E4M3FN>
  return %q, %s : tensor<256x256xf8E4M3FN>, tensor<16x16xf8E8M0FNU>
}
