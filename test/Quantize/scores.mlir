// RUN: weft-opt --weft-quantize=formats=mxfp8 --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s
// RUN: weft-opt --weft-quantize=formats=mxfp8=wg --remarks-filter="weft-quantize" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=ASKED

// A weight whose outputs are compared with each other is a router's or a head's, whatever its name is.

// CHECK-DAG: the forward of 'up' is mxfp8
// CHECK-DAG: the forward of 'wg' stays wide: its weight is that of scores, of which the largest is taken
// CHECK-DAG: the forward of 'wi' stays wide: its weight is that of scores, of which the largest is taken
// CHECK-DAG: the forward of 'scaled' is mxfp8
// CHECK-DAG: the forward of 'pooled' is mxfp8

// ASKED: the forward of 'wg' is mxfp8

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @f(%x: tensor<8x64xbf16>, %up: tensor<64x32xbf16> {weft.name = "up"},
             %wg: tensor<64x32xbf16> {weft.name = "wg"}, %wi: tensor<64x32xbf16> {weft.name = "wi"},
             %scaled: tensor<64x32xbf16> {weft.name = "scaled"}, %pooled: tensor<64x32xbf16> {weft.name = "pooled"},
             %tokens: tensor<32x64xbf16>)
    -> (tensor<8x32xbf16>, tensor<8xf32>, tensor<8xi32>, tensor<8xbf16>, tensor<32xbf16>) {
  %low = arith.constant dense<0xFF80> : tensor<8xbf16>
  %low_of_all = arith.constant dense<0xFF80> : tensor<32xbf16>
  %low_of_f32 = arith.constant dense<0xFF800000> : tensor<8xf32>
  %least = arith.constant dense<-2147483648> : tensor<8xi32>
  %narrow = tensor.empty() : tensor<8x32xbf16>
  %wide = tensor.empty() : tensor<8x32xf32>
  %bits = tensor.empty() : tensor<8x32xi32>
  %0 = weft.matmul %x, %up {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>

  // A softmax begins with a cast and the maximum of each row.
  %1 = weft.matmul %x, %wg {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<8x32xbf16>) outs(%wide : tensor<8x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<8x32xf32>
  %3 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<8x32xf32>) outs(%low_of_f32 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>

  // lax.top_k compares the bits.
  %4 = weft.matmul %x, %wi {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xf32>
  %5 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<8x32xf32>) outs(%bits : tensor<8x32xi32>) {
  ^bb0(%in: f32, %out: i32):
    %b = arith.bitcast %in : f32 to i32
    linalg.yield %b : i32
  } -> tensor<8x32xi32>
  %6 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%5 : tensor<8x32xi32>) outs(%least : tensor<8xi32>) {
  ^bb0(%in: i32, %out: i32):
    %m = arith.maxsi %out, %in : i32
    linalg.yield %m : i32
  } -> tensor<8xi32>

  // The largest magnitude of a row is its scale.
  %7 = weft.matmul %x, %scaled {indexing_maps = [#ik, #kj, #ij]} : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %8 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<8x32xbf16>) outs(%narrow : tensor<8x32xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %a = math.absf %in : bf16
    linalg.yield %a : bf16
  } -> tensor<8x32xbf16>
  %9 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%8 : tensor<8x32xbf16>) outs(%low : tensor<8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %m = arith.maximumf %out, %in : bf16
    linalg.yield %m : bf16
  } -> tensor<8xbf16>

  // The maximum over tokens, as many as there are outputs, compares none of a row's elements.
  %10 = weft.matmul %tokens, %pooled {indexing_maps = [#ik, #kj, #ij]} : tensor<32x64xbf16>, tensor<64x32xbf16> -> tensor<32x32xbf16>
  %11 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%10 : tensor<32x32xbf16>) outs(%low_of_all : tensor<32xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %m = arith.maximumf %out, %in : bf16
    linalg.yield %m : bf16
  } -> tensor<32xbf16>
  return %0, %3, %6, %9, %11 : tensor<8x32xbf16>, tensor<8xf32>, tensor<8xi32>, tensor<8xbf16>, tensor<32xbf16>
}
