// RUN: weft-opt %s --weft-lower-quantization --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s

// Casts in blocks of tensors of several widths are one function, which is told
// the widths: how many parts a row has, and how far blocks and rows are apart.

// CHECK: llvm.func internal @weft_k0_body({{.*}}, %[[PARTS:[^:]*]]: i64, %[[BLOCK:[^:]*]]: i64, %[[ROW:[^:]*]]: i64) attributes {no_inline}
// CHECK: arith.remui %{{.*}}, %[[PARTS]] : i64
// CHECK: arith.muli %{{.*}}, %[[BLOCK]] : i64
// CHECK: arith.muli %{{.*}}, %[[ROW]] : i64
// CHECK: llvm.func hidden @weft_k0
// CHECK: %[[PARTS0:.*]] = arith.constant 2 : i64
// CHECK: %[[BLOCK0:.*]] = arith.constant 16384 : i64
// CHECK: %[[ROW0:.*]] = arith.constant 512 : i64
// CHECK: llvm.call @weft_k0_body({{.*}}, %[[PARTS0]], %[[BLOCK0]], %[[ROW0]])
// CHECK-NOT: @weft_k1_body
// CHECK: llvm.func hidden @weft_k1
// CHECK: %[[PARTS1:.*]] = arith.constant 4 : i64
// CHECK: %[[BLOCK1:.*]] = arith.constant 32768 : i64
// CHECK: %[[ROW1:.*]] = arith.constant 1024 : i64
// CHECK: llvm.call @weft_k0_body({{.*}}, %[[PARTS1]], %[[BLOCK1]], %[[ROW1]])
func.func @f(%x: tensor<256x512xbf16> {weft.name = "x"}, %y: tensor<256x1024xbf16> {weft.name = "y"})
    -> (tensor<256x512xf8E4M3FN>, tensor<8x512xf8E8M0FNU>, tensor<256x1024xf8E4M3FN>, tensor<8x1024xf8E8M0FNU>) {
  %a = weft.amax %x {blocks = array<i64: 32, 1>} : tensor<256x512xbf16> -> tensor<8x512xf32>
  %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<8x512xf32>) -> (tensor<8x512xf32>, tensor<8x512xf8E8M0FNU>)
  %q = weft.quantize %x, %m : tensor<256x512xbf16>, tensor<8x512xf32> -> tensor<256x512xf8E4M3FN>
  %b = weft.amax %y {blocks = array<i64: 32, 1>} : tensor<256x1024xbf16> -> tensor<8x1024xf32>
  %n, %t = weft.block_scale %b {element = f8E4M3FN} : (tensor<8x1024xf32>) -> (tensor<8x1024xf32>, tensor<8x1024xf8E8M0FNU>)
  %r = weft.quantize %y, %n : tensor<256x1024xbf16>, tensor<8x1024xf32> -> tensor<256x1024xf8E4M3FN>
  return %q, %s, %r, %t : tensor<256x512xf8E4M3FN>, tensor<8x512xf8E8M0FNU>, tensor<256x1024xf8E4M3FN>, tensor<8x1024xf8E8M0FNU>
}
