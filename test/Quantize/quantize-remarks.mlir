// RUN: weft-opt --weft-quantize=formats=mxfp8 --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s
// RUN: weft-opt --weft-quantize=formats=mxfp8=head --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=HEAD
// RUN: weft-opt --weft-quantize="formats=nvfp4 accumulate=mb" --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=MICRO
// RUN: weft-opt --weft-quantize=formats=nvfp4 --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=NIBBLES
// RUN: weft-opt --weft-quantize="formats=mxfp8 accumulate=mb" --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=BLOCKS
// RUN: not weft-opt --weft-quantize=formats=mxfp8=outer --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OUTER
// RUN: weft-opt --weft-quantize=formats=nvfp4 %s 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: weft-opt --weft-quantize=formats=mxfp8=layers.*,nvfp4 %s 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID-OF-REST
// RUN: not weft-opt --weft-quantize=formats=fp8-block %s 2>&1 >/dev/null | FileCheck %s --check-prefix=NO-BLOCKS
// RUN: not weft-opt --weft-quantize=formats=fp6 %s 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not weft-opt --weft-quantize=formats=fp8=[ %s 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not weft-opt --weft-quantize=formats=mxfp8= %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not weft-opt --weft-quantize=formats=fp8=nothing %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not weft-opt --weft-quantize=formats=mxfp8,fp8 %s 2>&1 | FileCheck %s --check-prefix=DEAD
// RUN: not weft-opt --weft-quantize=formats=mxfp8=head,nvfp4=*er,fp8={head,router} %s 2>&1 | FileCheck %s --check-prefix=SHADOWED
// RUN: weft-opt --weft-quantize=formats=mxfp8=head,fp8={head,router} %s 2>&1 | FileCheck %s --check-prefix=PARTLY
// RUN: weft-opt --weft-quantize=formats=mxfp8=*,fp8 %s 2>&1 | FileCheck %s --check-prefix=REST
// RUN: weft-opt --weft-quantize=formats=mxfp8=[!hr]*,fp8=[r]*,nvfp4 %s 2>&1 >/dev/null | FileCheck %s --check-prefix=KEPT
// RUN: echo 'func.func @f() { return }' | weft-opt --weft-quantize=formats=mxfp8 2>&1 | FileCheck %s --check-prefix=NONE

// Which contractions become narrow, and why others do not.

// CHECK-DAG: the forward of 'layers.0.up' is mxfp8: 528 and 2112 bytes, not 1024 and 4096
// CHECK-DAG: the forward of 'router' stays wide: its weight is that of a router
// CHECK-DAG: the forward of 'odd' stays wide: blocks of 32 do not divide the 30 elements that it sums
// CHECK-DAG: the forward of 'head' stays wide: its weight is that of the head
// CHECK-DAG: the forward of 'adapter' is mxfp8
// CHECK-DAG: the forward of 'base' stays wide: the step does not update its weight
// CHECK-DAG: the input gradient of 'base' stays wide: the step does not update its weight
// CHECK-DAG: the forward of 'second' is mxfp8
// CHECK-DAG: the forward of 'narrow' is mxfp8
// CHECK-DAG: the forward of 'uneven' stays wide: blocks of 32 do not divide the 33 elements that it sums
// CHECK-DAG: the weight gradient of 'uneven' is mxfp8
// CHECK-DAG: the forward of 'outer' stays wide: its weight is that of the head
// CHECK-NOT: weft-quantize

// HEAD: the forward of 'head' is mxfp8
// HEAD-NOT: mxfp8

// NIBBLES-DAG: the forward of 'narrow' stays wide: squares of 16 do not divide the weight's 24 elements along what it keeps
// NIBBLES-DAG: the weight gradient of 'uneven' stays wide: two elements share a byte, and an operand has an odd last dimension of 33
// SAID: [[@LINE+32]]:8: warning: is not quantized as 'nvfp4', the forward of 'odd': blocks of 16 do not divide the 30 elements that it sums; 4 of 7 contractions stay wide (--remarks names them){{$}}
// SAID-NOT: warning
// SAID-OF-REST: warning: is not quantized as 'nvfp4', the forward of 'odd': blocks of 16 do not divide the 30 elements that it sums; 4 of 6 contractions stay wide (--remarks names them){{$}}
// NO-BLOCKS: error: 'weft.matmul' op cannot be quantized as 'fp8-block', the forward of 'layers.0.up': blocks of 128 do not divide the 64 elements that it sums; nor can any other of the 7 contractions that this is for{{$}}
// OUTER: the forward of 'outer' stays wide: it sums nothing that both operands have
// OUTER: error: 'weft.matmul' op cannot be quantized as 'mxfp8=outer', the forward of 'outer': it sums nothing that both operands have{{$}}

// MICRO: a scale of nvfp4 is for a whole tensor, and waits for all microbatches along 'mb'
// BLOCKS-NOT: microbatches

// FORMAT: error: cannot quantize as 'fp6', expected fp8, fp8-block, mxfp8 or nvfp4
// PATTERN: error: cannot quantize weights '[': {{.*}}
// EMPTY: error: cannot quantize as 'mxfp8=', which names no weight after '=': expected 'mxfp8' for all of them, or a pattern of names, as in 'mxfp8=layers.*'
// NOTHING: error: has no linear layer whose weight's name is like that of 'fp8=nothing'
// DEAD: error: cannot quantize as 'fp8': each linear layer that it is for has an entry before it, 'mxfp8'{{$}}
// SHADOWED: error: cannot quantize as 'fp8={head,router}': each linear layer that it is for has an entry before it, 'mxfp8=head', 'nvfp4=*er'{{$}}
// PARTLY-NOT: error
// REST: warning: cannot quantize as 'fp8': each linear layer that it is for has an entry before it, 'mxfp8=*'{{$}}
// KEPT: warning: is not quantized as 'nvfp4', the forward of 'head': its weight is that of the head; nothing is{{$}}
// NONE: warning: has no linear layer to quantize as 'mxfp8'

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: tensor<8x64xbf16>, %up: tensor<64x32xbf16> {weft.name = "layers.0.up"},
             %router: tensor<64x32xbf16> {weft.name = "router"}, %odd: tensor<30x32xbf16> {weft.name = "odd"},
             %y: tensor<8x30xbf16>, %head: tensor<32x128xbf16> {weft.name = "head"})
    -> (tensor<8x128xbf16>, tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %0 = math.absf %x : tensor<8x64xbf16>
  %1 = weft.matmul %0, %up {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %2 = weft.matmul %0, %router {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %3 = math.absf %y : tensor<8x30xbf16>
  %4 = weft.matmul %3, %odd {indexing_maps = [#ik, #kj, #ij]} : tensor<8x30xbf16>, tensor<30x32xbf16> -> tensor<8x32xbf16>
  %5 = math.absf %1 : tensor<8x32xbf16>
  %6 = weft.matmul %5, %head {indexing_maps = [#ik, #kj, #ij]} : tensor<8x32xbf16>, tensor<32x128xbf16> -> tensor<8x128xbf16>
  return %6, %2, %4 : tensor<8x128xbf16>, tensor<8x32xbf16>, tensor<8x32xbf16>
}

// A step that updates an adapter, but not what it is beside.
func.func @adapt(%x: tensor<8x64xbf16>, %base: tensor<64x32xbf16> {weft.name = "base"},
                 %adapter: tensor<64x32xbf16> {weft.name = "adapter"}, %dy: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x64xbf16>, tensor<64x32xbf16> {weft.alias = 2 : index}) {
  %0 = weft.matmul %x, %base {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %1 = weft.matmul %x, %adapter {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %2 = math.absf %dy : tensor<8x32xbf16>
  %3 = weft.matmul %2, %base {indexing_maps = [#ik, affine_map<(i, j, k) -> (j, k)>, #ij]}
      : tensor<8x32xbf16>, tensor<64x32xbf16> -> tensor<8x64xbf16>
  %4 = arith.addf %0, %1 : tensor<8x32xbf16>
  %5 = math.absf %adapter : tensor<64x32xbf16>
  return %4, %3, %5 : tensor<8x32xbf16>, tensor<8x64xbf16>, tensor<64x32xbf16>
}

// Nothing says which of two arguments is the weight.
func.func @product(%x: tensor<8x64xbf16> {weft.name = "first"}, %w: tensor<64x32xbf16> {weft.name = "second"}) -> tensor<8x32xbf16> {
  %0 = weft.matmul %x, %w {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  return %0 : tensor<8x32xbf16>
}

// What 4 bits in squares need, and a product that sums nothing.
func.func @nibbles(%x: tensor<32x64xbf16>, %narrow: tensor<64x24xbf16> {weft.name = "narrow"}) -> tensor<32x24xbf16> {
  %0 = math.absf %x : tensor<32x64xbf16>
  %1 = weft.matmul %0, %narrow {indexing_maps = [#ik, #kj, #ij]} : tensor<32x64xbf16>, tensor<64x24xbf16> -> tensor<32x24xbf16>
  return %1 : tensor<32x24xbf16>
}

func.func @uneven(%x: tensor<32x33xbf16>, %w: tensor<33x32xbf16> {weft.name = "uneven"}, %dy: tensor<32x32xbf16>)
    -> (tensor<32x32xbf16>, tensor<33x32xbf16>, tensor<33x32xbf16> {weft.alias = 1 : index}) {
  %0 = math.absf %x : tensor<32x33xbf16>
  %1 = weft.matmul %0, %w {indexing_maps = [#ik, #kj, #ij]} : tensor<32x33xbf16>, tensor<33x32xbf16> -> tensor<32x32xbf16>
  %2 = math.absf %dy : tensor<32x32xbf16>
  %3 = weft.matmul %0, %2 {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, #kj, #ij]}
      : tensor<32x33xbf16>, tensor<32x32xbf16> -> tensor<33x32xbf16>
  %4 = math.absf %w : tensor<33x32xbf16>
  return %1, %3, %4 : tensor<32x32xbf16>, tensor<33x32xbf16>, tensor<33x32xbf16>
}

func.func @outer(%x: tensor<32xbf16>, %w: tensor<64xbf16> {weft.name = "outer"}) -> tensor<32x64xbf16> {
  %0 = math.absf %x : tensor<32xbf16>
  %1 = weft.matmul %0, %w {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>]}
      : tensor<32xbf16>, tensor<64xbf16> -> tensor<32x64xbf16>
  return %1 : tensor<32x64xbf16>
}
