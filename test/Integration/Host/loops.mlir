// Loops whose trip count is not known, so that they stay loops.
// RUN: %native %s --values integers

// Carried values that swap, one that is carried as it is, and a scalar.
func.func @swapped_in_a_loop(
    %count: tensor<i32> {weft.name = "count"}, %a: tensor<4xf32> {weft.name = "a"}, %b: tensor<4xf32> {weft.name = "b"}, %c: tensor<4xf32> {weft.name = "c"})
    -> (tensor<4xf32> {weft.name = "x"}, tensor<4xf32> {weft.name = "y"},
        tensor<4xf32> {weft.name = "z"}, tensor<i32> {weft.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  %i0 = tensor.extract %count[] : tensor<i32>
  %i1 = arith.andi %i0, %c7 : i32
  %i2 = arith.constant 3 : i32
  %i3 = arith.minsi %i1, %i2 : i32
  %c3 = arith.index_cast %i3 : i32 to index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %x, %y, %z, %n = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b, %r = %c, %k = %zero)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, i32) {
    %s = arith.addf %p, %r : tensor<4xf32>
    %l = arith.addi %k, %two : i32
    scf.yield %q, %s, %r, %l : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, i32
  }
  %m = tensor.from_elements %n : tensor<i32>
  return %x, %y, %z, %m : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>
}

// -----

// Rows that are put into a carried tensor, which the next pass reads; the rows
// come from slices of what the loop does not change.
func.func @filled_row_by_row(
    %count: tensor<i32> {weft.name = "count"}, %xs: tensor<5x4xf32> {weft.name = "xs"}, %start: tensor<4xf32> {weft.name = "start"})
    -> (tensor<5x4xf32> {weft.name = "ys"}, tensor<4xf32> {weft.name = "last"}, tensor<5x4xf32> {weft.name = "xs", weft.alias = 1 : index}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  %i0 = tensor.extract %count[] : tensor<i32>
  %i1 = arith.andi %i0, %c7 : i32
  %i2 = arith.constant 5 : i32
  %i3 = arith.minsi %i1, %i2 : i32
  %c5 = arith.index_cast %i3 : i32 to index
  %zeros = arith.constant dense<0.0> : tensor<5x4xf32>
  %ys, %last = scf.for %i = %c0 to %c5 step %c1 iter_args(%acc = %zeros, %h = %start) -> (tensor<5x4xf32>, tensor<4xf32>) {
    %x = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %h1 = arith.addf %h, %x : tensor<4xf32>
    %acc1 = tensor.insert_slice %h1 into %acc[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    %h2 = arith.addf %h1, %start : tensor<4xf32>
    scf.yield %acc1, %h2 : tensor<5x4xf32>, tensor<4xf32>
  }
  %sum = arith.addf %ys, %xs : tensor<5x4xf32>
  return %ys, %last, %sum : tensor<5x4xf32>, tensor<4xf32>, tensor<5x4xf32>
}

// -----

// The carried tensor is read after it was overwritten in part, as a whole and
// through a view; an inner loop overwrites what the outer one carries.
func.func @read_after_insertion(%count: tensor<i32> {weft.name = "count"}, %a: tensor<4x4xf32> {weft.name = "a"})
    -> (tensor<4x4xf32> {weft.name = "x"}, tensor<4xf32> {weft.name = "y"}, tensor<4x4xf32> {weft.name = "a1"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  %i0 = tensor.extract %count[] : tensor<i32>
  %i1 = arith.andi %i0, %c7 : i32
  %i2 = arith.constant 3 : i32
  %i3 = arith.minsi %i1, %i2 : i32
  %c3 = arith.index_cast %i3 : i32 to index
  %row = tensor.extract_slice %a[0, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
  %x, %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %row) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %old = tensor.extract_slice %p[3, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
    %new = arith.addf %q, %old : tensor<4xf32>
    %p1 = tensor.insert_slice %new into %p[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<4x4xf32>
    %p2 = scf.for %j = %c0 to %c3 step %c1 iter_args(%r = %p1) -> (tensor<4x4xf32>) {
      %r0 = tensor.extract_slice %r[%j, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
      %r1 = arith.addf %r0, %old : tensor<4xf32>
      %r2 = tensor.insert_slice %r1 into %r[3, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<4x4xf32>
      scf.yield %r2 : tensor<4x4xf32>
    }
    scf.yield %p2, %old : tensor<4x4xf32>, tensor<4xf32>
  }
  return %x, %y, %a : tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// -----

// Loops that never run and branches, with results that are also arguments.
func.func @branches(
    %a: tensor<4xf32> {weft.name = "a"}, %b: tensor<4xf32> {weft.name = "b"}, %k: tensor<i32> {weft.name = "k"})
    -> (tensor<4xf32> {weft.name = "a", weft.alias = 0 : index}, tensor<4xf32> {weft.name = "y"},
        tensor<4xf32> {weft.name = "never"}, tensor<f32> {weft.name = "s"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1.0 : f32
  %stop = arith.index_cast %zero : i32 to index
  %never = scf.for %i = %c1 to %stop step %c1 iter_args(%p = %a) -> (tensor<4xf32>) {
    %q = arith.negf %p : tensor<4xf32>
    scf.yield %q : tensor<4xf32>
  }
  %n = tensor.extract %k[] : tensor<i32>
  %positive = arith.cmpi sgt, %n, %zero : i32
  %x, %y, %s = scf.if %positive -> (tensor<4xf32>, tensor<4xf32>, f32) {
    %sum = arith.addf %a, %b : tensor<4xf32>
    scf.yield %b, %sum, %one : tensor<4xf32>, tensor<4xf32>, f32
  } else {
    %two = arith.addf %one, %one : f32
    scf.yield %a, %b, %two : tensor<4xf32>, tensor<4xf32>, f32
  }
  %t = tensor.from_elements %s : tensor<f32>
  return %x, %y, %never, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// What is made before the loop is needed in every pass, and what a pass is done
// with is needed in the next: neither's memory is free in between.
func.func @needed_in_the_next_pass(%count: tensor<i32> {weft.name = "count"},
    %a: tensor<4x4xf32> {weft.name = "a"}, %b: tensor<4x4xf32> {weft.name = "b"})
    -> (tensor<4x4xf32> {weft.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %three = arith.constant 3 : i32
  %i0 = tensor.extract %count[] : tensor<i32>
  %i1 = arith.andi %i0, %three : i32
  %i2 = arith.ori %i1, %three : i32
  %n = arith.index_cast %i2 : i32 to index
  %turn = arith.constant dense<[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %v = arith.subf %a, %b : tensor<4x4xf32>
  %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %m = linalg.matmul ins(%x, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.matmul ins(%m, %turn : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = linalg.matmul ins(%turn, %t : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %u, %t : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %q : tensor<4x4xf32>
}
