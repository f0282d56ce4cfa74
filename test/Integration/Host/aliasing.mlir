// RUN: %native %s --values integers

// Two results, one of which takes the argument's place, which the other reads
// after that, directly, through a view and in another order.
func.func @old_value_is_read_later(
    %p: tensor<8x4xf32> {weft.name = "p"}, %g: tensor<8x4xf32> {weft.name = "g"})
    -> (tensor<8x4xf32> {weft.name = "new", weft.alias = 0 : index},
        tensor<8x4xf32> {weft.name = "old"}, tensor<4x8xf32> {weft.name = "turned"},
        tensor<2x4xf32> {weft.name = "part"}, tensor<32xf32> {weft.name = "flat"}) {
  %new = arith.addf %p, %g : tensor<8x4xf32>
  %old = arith.mulf %p, %new : tensor<8x4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %turned = linalg.transpose ins(%p : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  %part = tensor.extract_slice %p[3, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  %flat = tensor.collapse_shape %p [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  return %new, %old, %turned, %part, %flat
      : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<2x4xf32>, tensor<32xf32>
}

// -----

// The new value of an argument is made of it in another order.
func.func @transposed_into_itself(%p: tensor<6x6xf32> {weft.name = "p"})
    -> (tensor<6x6xf32> {weft.name = "p", weft.alias = 0 : index}) {
  %e = tensor.empty() : tensor<6x6xf32>
  %t = linalg.transpose ins(%p : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) permutation = [1, 0]
  %one = arith.constant dense<1.0> : tensor<6x6xf32>
  %r = arith.addf %t, %one : tensor<6x6xf32>
  return %r : tensor<6x6xf32>
}

// -----

// Arguments that swap, and one that is returned as it is, twice.
func.func @swapped(
    %a: tensor<5xf32> {weft.name = "a"}, %b: tensor<5xf32> {weft.name = "b"},
    %c: tensor<5xf32> {weft.name = "c"}, %d: tensor<5xf32> {weft.name = "d"})
    -> (tensor<5xf32> {weft.name = "a", weft.alias = 0 : index},
        tensor<5xf32> {weft.name = "b", weft.alias = 1 : index},
        tensor<5xf32> {weft.name = "c", weft.alias = 2 : index},
        tensor<5xf32> {weft.name = "c1"}, tensor<5xf32> {weft.name = "a1"},
        tensor<5xf32> {weft.name = "d1"}, tensor<5xf32> {weft.name = "d2"}) {
  return %b, %a, %c, %c, %a, %d, %d
      : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

// A result that is returned twice, reshaped, and used in a contraction.
func.func @returned_twice(
    %x: tensor<4x4xf32> {weft.name = "x"})
    -> (tensor<4x4xf32> {weft.name = "r0"}, tensor<4x4xf32> {weft.name = "r1"},
        tensor<16xf32> {weft.name = "r2"}, tensor<4x4xf32> {weft.name = "square"},
        tensor<4x4xf32> {weft.name = "x", weft.alias = 0 : index}) {
  %r = arith.addf %x, %x : tensor<4x4xf32>
  %flat = tensor.collapse_shape %r [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %square = linalg.matmul ins(%x, %r : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r, %r, %flat, %square, %square
      : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The new value of an argument is a contraction of the old.
func.func @contraction_into_argument(
    %x: tensor<4x4xf32> {weft.name = "x"}, %w: tensor<4x4xf32> {weft.name = "w"})
    -> (tensor<4x4xf32> {weft.name = "x", weft.alias = 0 : index}) {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// Each row is divided by its sum, in place, while its old sum and the old rows
// are read again.
func.func @rows_in_place(%x: tensor<16x8xf32> {weft.name = "x"}, %c: tensor<16x8xf32> {weft.name = "c"})
    -> (tensor<16x8xf32> {weft.name = "x", weft.alias = 0 : index}, tensor<16xf32> {weft.name = "sum"},
        tensor<8xf32> {weft.name = "columns"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce ins(%x : tensor<16x8xf32>) outs(%z : tensor<16xf32>) dimensions = [1]
    (%i: f32, %a: f32) { %s = arith.addf %i, %a : f32 linalg.yield %s : f32 }
  %b = tensor.empty() : tensor<16x8xf32>
  %wide = linalg.broadcast ins(%sum : tensor<16xf32>) outs(%b : tensor<16x8xf32>) dimensions = [1]
  %d = arith.subf %x, %wide : tensor<16x8xf32>
  %r = arith.maximumf %d, %c : tensor<16x8xf32>
  %e8 = tensor.empty() : tensor<8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<8xf32>) -> tensor<8xf32>
  %columns = linalg.reduce ins(%x : tensor<16x8xf32>) outs(%z8 : tensor<8xf32>) dimensions = [0]
    (%i: f32, %a: f32) { %s = arith.addf %i, %a : f32 linalg.yield %s : f32 }
  return %r, %sum, %columns : tensor<16x8xf32>, tensor<16xf32>, tensor<8xf32>
}
