// RUN: %native %s --values integers

// Loops whose step comes from data: one that is not positive makes no pass.

func.func @steps(%x: tensor<8xf32> {weft.name = "x"}, %steps: tensor<6xi32> {weft.name = "steps"})
    -> (tensor<8xf32> {weft.name = "y"}, tensor<3xi32> {weft.name = "sums"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c10 = arith.constant 10 : index
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %y = scf.for %k = %c0 to %c6 step %c1 iter_args(%z = %x) -> (tensor<8xf32>) {
    %s = tensor.extract %steps[%k] : tensor<6xi32>
    %step = arith.index_cast %s : i32 to index
    %w = scf.for %i = %c0 to %c10 step %step iter_args(%a = %z) -> (tensor<8xf32>) {
      %b = arith.addf %a, %one : tensor<8xf32>
      scf.yield %b : tensor<8xf32>
    }
    scf.yield %w : tensor<8xf32>
  }
  %low = arith.constant -7 : i32
  %high = arith.constant 5 : i32
  %none = arith.constant 0 : i32
  %s0 = tensor.extract %steps[%c0] : tensor<6xi32>
  %s1 = tensor.extract %steps[%c1] : tensor<6xi32>
  %s2 = tensor.extract %steps[%c2] : tensor<6xi32>
  %sum0 = scf.for %i = %low to %high step %s0 iter_args(%a = %none) -> (i32) : i32 {
    %b = arith.muli %i, %i : i32
    %c = arith.addi %a, %b : i32
    scf.yield %c : i32
  }
  %sum1 = scf.for %i = %low to %high step %s1 iter_args(%a = %none) -> (i32) : i32 {
    %b = arith.muli %i, %i : i32
    %c = arith.addi %a, %b : i32
    scf.yield %c : i32
  }
  %sum2 = scf.for %i = %s2 to %high step %s0 iter_args(%a = %none) -> (i32) : i32 {
    %b = arith.muli %i, %i : i32
    %c = arith.addi %a, %b : i32
    scf.yield %c : i32
  }
  %sums = tensor.from_elements %sum0, %sum1, %sum2 : tensor<3xi32>
  return %y, %sums : tensor<8xf32>, tensor<3xi32>
}

// -----

// One more step would overflow.
func.func @at_the_end(%x: tensor<i64> {weft.name = "x"}) -> (tensor<i64> {weft.name = "y"}) {
  %low = arith.constant 9223372036854775797 : i64
  %high = arith.constant 9223372036854775807 : i64
  %step = arith.constant 4 : i64
  %v = tensor.extract %x[] : tensor<i64>
  %sum = scf.for %i = %low to %high step %step iter_args(%a = %v) -> (i64) : i64 {
    %b = arith.xori %a, %i : i64
    scf.yield %b : i64
  }
  %y = tensor.from_elements %sum : tensor<i64>
  return %y : tensor<i64>
}
