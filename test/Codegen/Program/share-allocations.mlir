// RUN: weft-opt %s --weft-lower-quantization --weft-fuse-kernels --weft-name-ops --weft-plan-buffers --weft-outline-kernels | FileCheck %s

// Memory on the stack is as large as the widest of those that share a function
// needs: its size is not passed.

// CHECK: llvm.func internal @weft_k1_body(
// CHECK: %[[LARGEST:.*]] = arith.constant 768 : i64
// CHECK: llvm.alloca %[[LARGEST]] x i8
// CHECK: llvm.func hidden @weft_k1(
// CHECK: %[[WIDTH:.*]] = arith.constant 256 : i64
// CHECK: llvm.call @weft_k1_body({{.*}}, %[[WIDTH]],
// CHECK-NOT: @weft_k2_body
func.func @f(%key: tensor<1xi32>, %x: tensor<32x512xf32> {weft.name = "x"}, %mx: tensor<2x512xf32>, %sx: tensor<2x512xf8E4M3FN>,
    %y: tensor<32x1536xf32> {weft.name = "y"},
    %my: tensor<2x1536xf32>, %sy: tensor<2x1536xf8E4M3FN>) -> (tensor<32x512xf32>, tensor<32x1536xf32>) {
  %qx = weft.quantize %x, %mx key %key : tensor<1xi32> {seed = 5 : i64} : tensor<32x512xf32>, tensor<2x512xf32> -> tensor<32x512xf4E2M1FN>
  %dx = weft.dequantize %qx, %sx : tensor<32x512xf4E2M1FN>, tensor<2x512xf8E4M3FN> -> tensor<32x512xf32>
  %qy = weft.quantize %y, %my key %key : tensor<1xi32> {seed = 5 : i64} : tensor<32x1536xf32>, tensor<2x1536xf32> -> tensor<32x1536xf4E2M1FN>
  %dy = weft.dequantize %qy, %sy : tensor<32x1536xf4E2M1FN>, tensor<2x1536xf8E4M3FN> -> tensor<32x1536xf32>
  return %dx, %dy : tensor<32x512xf32>, tensor<32x1536xf32>
}
