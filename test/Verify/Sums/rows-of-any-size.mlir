// Chunks of what is made of indices and constants, put together and made one dimension: how many places there are is open in
// the global program and on a rank, and open is one size and no number.

// RUN: weft-compile %s --to local -o - | FileCheck %s
// CHECK: func.func @step
// CHECK: tensor.collapse_shape

module {
  weft.mesh @mesh = <["a"=1]>
  func.func @step(%arg0: tensor<8x6xf32> {weft.name = "x"}) -> (tensor<8x6xf32> {weft.name = "result0"}) {
    %cst = arith.constant -0.000000e+00 : f32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<3x6x6xf32>
    %cst_1 = arith.constant dense<false> : tensor<3x6x6xi1>
    %cst_2 = arith.constant dense<0> : tensor<6xi32>
    %mapped = linalg.map outs(%cst_2 : tensor<6xi32>)
      (%init: i32) {
        %0 = linalg.index 0 : index
        %1 = arith.index_cast %0 : index to i64
        %2 = arith.trunci %1 : i64 to i32
        linalg.yield %2 : i32
      }
    %cst_3 = arith.constant dense<0> : tensor<3x6x6xi32>
    %broadcasted = linalg.broadcast ins(%mapped : tensor<6xi32>) outs(%cst_3 : tensor<3x6x6xi32>) dimensions = [0, 1]
    %mapped_4 = linalg.map { arith.cmpi {predicate = 0 : i64} } ins(%cst_3, %broadcasted : tensor<3x6x6xi32>, tensor<3x6x6xi32>) outs(%cst_1 : tensor<3x6x6xi1>)
    %mapped_5 = linalg.map ins(%mapped_4, %cst_0 : tensor<3x6x6xi1>, tensor<3x6x6xf32>) outs(%cst_0 : tensor<3x6x6xf32>)
      (%in: i1, %in_10: f32, %init: f32) {
        %0 = arith.select %in, %in_10, %cst : f32
        linalg.yield %0 : f32
      }
    %cst_6 = arith.constant dense<0.000000e+00> : tensor<3x6xf32>
    %reduced = linalg.reduce ins(%mapped_5 : tensor<3x6x6xf32>) outs(%cst_6 : tensor<3x6xf32>) dimensions = [1]
      (%in: f32, %init: f32) {
        linalg.yield %init : f32
      }
    %expanded = tensor.expand_shape %reduced [[0, 1], [2]] output_shape [1, 3, 6] : tensor<3x6xf32> into tensor<1x3x6xf32>
    %cst_7 = arith.constant dense<0.000000e+00> : tensor<1x3x6xf32>
    %concat = tensor.concat dim(0) %expanded, %cst_7 : (tensor<1x3x6xf32>, tensor<1x3x6xf32>) -> tensor<2x3x6xf32>
    %cst_8 = arith.constant dense<0.000000e+00> : tensor<2x6xf32>
    %collapsed = tensor.collapse_shape %concat [[0, 1], [2]] : tensor<2x3x6xf32> into tensor<6x6xf32>
    %concat_9 = tensor.concat dim(0) %collapsed, %cst_8 : (tensor<6x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
    return %concat_9 : tensor<8x6xf32>
  }
}
