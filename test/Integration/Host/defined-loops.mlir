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

// -----

// Bounds and steps that are unsigned.
func.func @unsigned(%x: tensor<i32> {weft.name = "x"}) -> (tensor<9xi32> {weft.name = "y"}) {
  %v = tensor.extract %x[] : tensor<i32>
  %low0 = arith.constant 0 : i8
  %high0 = arith.constant -56 : i8
  %step0 = arith.constant 50 : i8
  %r0 = scf.for unsigned %i = %low0 to %high0 step %step0 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low1 = arith.constant 100 : i8
  %high1 = arith.constant -1 : i8
  %step1 = arith.constant 100 : i8
  %r1 = scf.for unsigned %i = %low1 to %high1 step %step1 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low2 = arith.constant 0 : i8
  %high2 = arith.constant -3 : i8
  %step2 = arith.constant 25 : i8
  %r2 = scf.for unsigned %i = %low2 to %high2 step %step2 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low3 = arith.constant 5 : i8
  %high3 = arith.constant -1 : i8
  %step3 = arith.constant -56 : i8
  %r3 = scf.for unsigned %i = %low3 to %high3 step %step3 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low4 = arith.constant -2 : i8
  %high4 = arith.constant 2 : i8
  %step4 = arith.constant 1 : i8
  %r4 = scf.for unsigned %i = %low4 to %high4 step %step4 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low5 = arith.constant 0 : i32
  %high5 = arith.constant -294967296 : i32
  %step5 = arith.constant 1000000000 : i32
  %r5 = scf.for unsigned %i = %low5 to %high5 step %step5 iter_args(%a = %v) -> (i32) : i32 {
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %i : i32
    scf.yield %b : i32
  }
  %low6 = arith.constant 0 : i64
  %high6 = arith.constant -1 : i64
  %step6 = arith.constant 4611686018427387904 : i64
  %r6 = scf.for unsigned %i = %low6 to %high6 step %step6 iter_args(%a = %v) -> (i32) : i64 {
    %n = arith.trunci %i : i64 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low7 = arith.constant -2 : index
  %high7 = arith.constant 2 : index
  %step7 = arith.constant 1 : index
  %r7 = scf.for unsigned %i = %low7 to %high7 step %step7 iter_args(%a = %v) -> (i32) {
    %n = arith.index_cast %i : index to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low8 = arith.constant 3 : index
  %high8 = arith.constant 9 : index
  %step8 = arith.constant 2 : index
  %r8 = scf.for unsigned %i = %low8 to %high8 step %step8 iter_args(%a = %v) -> (i32) {
    %n = arith.index_cast %i : index to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %y = tensor.from_elements %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8 : tensor<9xi32>
  return %y : tensor<9xi32>
}

// -----

// Extents that are not signed numbers of the loop's type.
func.func @extents(%x: tensor<i32> {weft.name = "x"}) -> (tensor<7xi32> {weft.name = "y"}) {
  %v = tensor.extract %x[] : tensor<i32>
  %low0 = arith.constant -128 : i8
  %high0 = arith.constant 127 : i8
  %step0 = arith.constant 1 : i8
  %r0 = scf.for %i = %low0 to %high0 step %step0 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low1 = arith.constant -128 : i8
  %high1 = arith.constant 127 : i8
  %step1 = arith.constant 2 : i8
  %r1 = scf.for %i = %low1 to %high1 step %step1 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low2 = arith.constant -100 : i8
  %high2 = arith.constant 100 : i8
  %step2 = arith.constant 100 : i8
  %r2 = scf.for %i = %low2 to %high2 step %step2 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low3 = arith.constant -100 : i8
  %high3 = arith.constant 100 : i8
  %step3 = arith.constant 127 : i8
  %r3 = scf.for %i = %low3 to %high3 step %step3 iter_args(%a = %v) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low4 = arith.constant -30000 : i16
  %high4 = arith.constant 30000 : i16
  %step4 = arith.constant 20000 : i16
  %r4 = scf.for %i = %low4 to %high4 step %step4 iter_args(%a = %v) -> (i32) : i16 {
    %n = arith.extsi %i : i16 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low5 = arith.constant -2000000000 : i32
  %high5 = arith.constant 2000000000 : i32
  %step5 = arith.constant 1000000000 : i32
  %r5 = scf.for %i = %low5 to %high5 step %step5 iter_args(%a = %v) -> (i32) : i32 {
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %i : i32
    scf.yield %b : i32
  }
  %low6 = arith.constant -9000000000000000000 : i64
  %high6 = arith.constant 9000000000000000000 : i64
  %step6 = arith.constant 5000000000000000000 : i64
  %r6 = scf.for %i = %low6 to %high6 step %step6 iter_args(%a = %v) -> (i32) : i64 {
    %n = arith.trunci %i : i64 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %y = tensor.from_elements %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<7xi32>
  return %y : tensor<7xi32>
}

// -----

// Bounds that are data.
func.func @unknown(%low: tensor<2xi8> {weft.name = "low"}, %high: tensor<2xi8> {weft.name = "high"}) -> (tensor<4xi32> {weft.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %most = arith.constant 100 : i8
  %step = arith.constant 3 : i8
  %low0 = tensor.extract %low[%c0] : tensor<2xi8>
  %high0 = tensor.extract %high[%c0] : tensor<2xi8>
  %a0 = scf.for unsigned %i = %low0 to %high0 step %step iter_args(%a = %none) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %b0 = scf.for %i = %low0 to %most step %step iter_args(%a = %a0) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %low1 = tensor.extract %low[%c1] : tensor<2xi8>
  %high1 = tensor.extract %high[%c1] : tensor<2xi8>
  %a1 = scf.for unsigned %i = %low1 to %high1 step %step iter_args(%a = %none) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %b1 = scf.for %i = %low1 to %most step %step iter_args(%a = %a1) -> (i32) : i8 {
    %n = arith.extsi %i : i8 to i32
    %m = arith.muli %a, %a : i32
    %b = arith.addi %m, %n : i32
    scf.yield %b : i32
  }
  %y = tensor.from_elements %a0, %b0, %a1, %b1 : tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// Casts of indices keep the low bits.
func.func @casts(%x: tensor<600xi32> {weft.name = "x"}) -> (tensor<600xi32> {weft.name = "y"}, tensor<600xi32> {weft.name = "z"}) {
  %e = tensor.empty() : tensor<600xi32>
  %y, %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<600xi32>) outs(%e, %e : tensor<600xi32>, tensor<600xi32>) {
  ^bb0(%a: i32, %o: i32, %p: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i8
    %m = arith.index_castui %i : index to i8
    %signed = arith.index_cast %n : i8 to index
    %unsigned = arith.index_castui %m : i8 to index
    %k = arith.index_cast %signed : index to i32
    %l = arith.index_castui %unsigned : index to i32
    %b = arith.addi %a, %k : i32
    %c = arith.addi %a, %l : i32
    linalg.yield %b, %c : i32, i32
  } -> (tensor<600xi32>, tensor<600xi32>)
  return %y, %z : tensor<600xi32>, tensor<600xi32>
}
