// RUN: weft-compile %s --to planned -o - | FileCheck %s

// Rows are put, at a place from data, into the first rows of what has more: the view of that place could reach all of them.

// CHECK: weft_rt.assemble {{.*}} {weft_rt.into = [unit, #weft_rt.part<begin = 0, sizes = [7, 3], strides = [3, 1], moves = true>]

weft.mesh @mesh = <["x"=1]>
func.func @step(%x: tensor<9x3xf32> {weft.name = "x"}, %rows: tensor<7x3xf32> {weft.name = "rows"}, %at: tensor<i32> {weft.name = "at"})
    -> (tensor<8x3xf32> {weft.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<9x3xf32>
  %exp = linalg.map { math.exp } ins(%x : tensor<9x3xf32>) outs(%e : tensor<9x3xf32>)
  %first = tensor.extract_slice %exp[0, 0] [8, 3] [1, 1] : tensor<9x3xf32> to tensor<8x3xf32>
  %number = tensor.extract %at[] : tensor<i32>
  %index = arith.index_cast %number : i32 to index
  %low = arith.maxsi %index, %c0 : index
  %place = arith.minsi %low, %c1 : index
  %put = tensor.insert_slice %rows into %first[%place, 0] [7, 3] [1, 1] : tensor<7x3xf32> into tensor<8x3xf32>
  %e8 = tensor.empty() : tensor<8x3xf32>
  %y = linalg.map { math.tanh } ins(%put : tensor<8x3xf32>) outs(%e8 : tensor<8x3xf32>)
  return %y : tensor<8x3xf32>
}
