// What is done hangs on an argument's value.
func.func @step(%n: tensor<i32> {weft.name = "n"}, %x: tensor<4xf32> {weft.name = "x"})
    -> (tensor<4xf32> {weft.name = "y"}) {
  %zero = arith.constant 0 : i32
  %count = tensor.extract %n[] : tensor<i32>
  %isPositive = arith.cmpi sgt, %count, %zero : i32
  %y = scf.if %isPositive -> tensor<4xf32> {
    %twice = arith.addf %x, %x : tensor<4xf32>
    scf.yield %twice : tensor<4xf32>
  } else {
    %square = arith.mulf %x, %x : tensor<4xf32>
    scf.yield %square : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
