// RUN: %native %s --values integers

// Parts of one concatenation are computed in it, in a contraction too; a part
// that stands twice, one that is read again, and one that is an argument.
func.func @concatenated(
    %x: tensor<4x3xf32> {weft.name = "x"}, %y: tensor<4x3xf32> {weft.name = "y"})
    -> (tensor<4x12xf32> {weft.name = "wide"}, tensor<16x3xf32> {weft.name = "high"},
        tensor<4x3xf32> {weft.name = "sum"}, tensor<8x3xf32> {weft.name = "again"}) {
  %a = arith.addf %x, %y : tensor<4x3xf32>
  %b = arith.mulf %x, %y : tensor<4x3xf32>
  %wide = tensor.concat dim(1) %a, %b, %a, %x : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x12xf32>
  %i = arith.constant dense<[[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %zero = arith.constant dense<0.0> : tensor<4x3xf32>
  %m = linalg.matmul ins(%a, %i : tensor<4x3xf32>, tensor<3x3xf32>) outs(%zero : tensor<4x3xf32>) -> tensor<4x3xf32>
  %n = linalg.matmul ins(%m, %i : tensor<4x3xf32>, tensor<3x3xf32>) outs(%zero : tensor<4x3xf32>) -> tensor<4x3xf32>
  %high = tensor.concat dim(0) %m, %n, %y, %m : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<16x3xf32>
  %sum = arith.addf %m, %n : tensor<4x3xf32>
  %again = tensor.concat dim(0) %n, %sum : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %wide, %high, %sum, %again : tensor<4x12xf32>, tensor<16x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>
}

// -----

// The new value of an argument is put together from parts of the old.
func.func @rotated(%x: tensor<6x4xf32> {weft.name = "x"})
    -> (tensor<6x4xf32> {weft.name = "x", weft.alias = 0 : index}, tensor<6x4xf32> {weft.name = "y"}) {
  %low = tensor.extract_slice %x[0, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %high = tensor.extract_slice %x[2, 0] [4, 4] [1, 1] : tensor<6x4xf32> to tensor<4x4xf32>
  %double = arith.addf %high, %high : tensor<4x4xf32>
  %r = tensor.concat dim(0) %double, %low : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
  %left = tensor.extract_slice %x[0, 0] [6, 2] [1, 1] : tensor<6x4xf32> to tensor<6x2xf32>
  %right = tensor.extract_slice %x[0, 2] [6, 2] [1, 1] : tensor<6x4xf32> to tensor<6x2xf32>
  %negative = arith.negf %right : tensor<6x2xf32>
  %y = tensor.concat dim(1) %negative, %left : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x4xf32>
  return %r, %y : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// Insertions into an argument that is donated, one that is not, a value that is
// read again, and undefined contents; a slice of a tensor into itself.
func.func @inserted(
    %p: tensor<8x4xf32> {weft.name = "p"}, %q: tensor<8x4xf32> {weft.name = "q"},
    %s: tensor<2x4xf32> {weft.name = "s"}, %r: tensor<8x4xf32> {weft.name = "r"})
    -> (tensor<8x4xf32> {weft.name = "p", weft.alias = 0 : index},
        tensor<8x4xf32> {weft.name = "q1"}, tensor<8x4xf32> {weft.name = "t0"},
        tensor<8x4xf32> {weft.name = "t1"}, tensor<4x4xf32> {weft.name = "u"},
        tensor<8x4xf32> {weft.name = "r", weft.alias = 3 : index}) {
  %p1 = tensor.insert_slice %s into %p[3, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  %q1 = tensor.insert_slice %s into %q[1, 0] [2, 4] [4, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  %t0 = arith.addf %q, %q : tensor<8x4xf32>
  %t1 = tensor.insert_slice %s into %t0[0, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %u0 = tensor.insert_slice %s into %e[0, 0] [2, 4] [2, 1] : tensor<2x4xf32> into tensor<4x4xf32>
  %u = tensor.insert_slice %s into %u0[1, 0] [2, 4] [2, 1] : tensor<2x4xf32> into tensor<4x4xf32>
  %own = tensor.extract_slice %r[0, 0] [7, 4] [1, 1] : tensor<8x4xf32> to tensor<7x4xf32>
  %r1 = tensor.insert_slice %own into %r[1, 0] [7, 4] [1, 1] : tensor<7x4xf32> into tensor<8x4xf32>
  return %p1, %q1, %t0, %t1, %u, %r1
      : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
}

// -----

// Offsets that are computed; slices that lose dims; a slice of a slice.
func.func @sliced(
    %x: tensor<6x5x4xf32> {weft.name = "x"}, %i: tensor<2xi32> {weft.name = "i"})
    -> (tensor<2x4xf32> {weft.name = "a"}, tensor<6x5xf32> {weft.name = "b"},
        tensor<5x2xf32> {weft.name = "c"}, tensor<6x5x4xf32> {weft.name = "d"}, tensor<20xf32> {weft.name = "e"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %i0 = tensor.extract %i[%c0] : tensor<2xi32>
  %i1 = tensor.extract %i[%c1] : tensor<2xi32>
  %m0 = arith.andi %i0, %two : i32
  %m1 = arith.andi %i1, %three : i32
  %o0 = arith.index_cast %m0 : i32 to index
  %o1 = arith.index_cast %m1 : i32 to index
  %part = tensor.extract_slice %x[%o0, %o1, 0] [3, 2, 4] [1, 1, 1] : tensor<6x5x4xf32> to tensor<3x2x4xf32>
  %a = tensor.extract_slice %part[%o0, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<3x2x4xf32> to tensor<2x4xf32>
  %b = tensor.extract_slice %x[0, 0, %o1] [6, 5, 1] [1, 1, 1] : tensor<6x5x4xf32> to tensor<6x5xf32>
  %line = tensor.extract_slice %x[1, 0, 1] [1, 5, 2] [1, 1, 2] : tensor<6x5x4xf32> to tensor<5x2xf32>
  %c = arith.addf %line, %line : tensor<5x2xf32>
  %d = tensor.insert_slice %c into %x[%o0, 0, %o0] [1, 5, 2] [1, 1, 1] : tensor<5x2xf32> into tensor<6x5x4xf32>
  %block = tensor.extract_slice %x[0, 0, 0] [2, 5, 2] [1, 1, 1] : tensor<6x5x4xf32> to tensor<2x5x2xf32>
  %e = tensor.collapse_shape %block [[0, 1, 2]] : tensor<2x5x2xf32> into tensor<20xf32>
  return %a, %b, %c, %d, %e : tensor<2x4xf32>, tensor<6x5xf32>, tensor<5x2xf32>, tensor<6x5x4xf32>, tensor<20xf32>
}

// -----

// Values that are put into themselves: whole, and slices of them, at places
// that data say.
func.func @intoItself(%x: tensor<4x3xf32> {weft.name = "x"}, %p: tensor<i32> {weft.name = "p"})
    -> (tensor<4x3xf32> {weft.name = "whole"}, tensor<4x3xf32> {weft.name = "row"},
        tensor<4x3xf32> {weft.name = "rows"}) {
  %p0 = tensor.extract %p[] : tensor<i32>
  %i = arith.index_cast %p0 : i32 to index
  %y = arith.addf %x, %x : tensor<4x3xf32>
  %a = tensor.insert_slice %y into %y[%i, 0] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x3xf32>
  %a1 = tensor.insert_slice %a into %a[0, 0] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x3xf32>
  %unit = tensor.expand_shape %a1 [[0], [1, 2]] output_shape [4, 1, 3] : tensor<4x3xf32> into tensor<4x1x3xf32>
  %same = tensor.insert_slice %unit into %unit[0, 0, 0] [4, 1, 3] [1, 2, 1] : tensor<4x1x3xf32> into tensor<4x1x3xf32>
  %flat = tensor.collapse_shape %same [[0], [1, 2]] : tensor<4x1x3xf32> into tensor<4x3xf32>
  %a2 = arith.mulf %flat, %y : tensor<4x3xf32>
  %row = tensor.extract_slice %y[1, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<1x3xf32>
  %b = tensor.insert_slice %row into %y[%i, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<4x3xf32>
  %rows = tensor.extract_slice %b[%i, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  %c = tensor.insert_slice %rows into %b[1, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x3xf32>
  return %a2, %b, %c : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// A number on the same number, and that padded with it.
func.func @zerosOnZeros(%x: tensor<2xf32> {weft.name = "x"})
    -> (tensor<1x6xf32> {weft.name = "zeros"}, tensor<2x7xf32> {weft.name = "padded"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<0.0> : tensor<1xf32>
  %two = arith.constant dense<0.0> : tensor<1x2xf32>
  %a = tensor.insert_slice %one into %two[0, 1] [1, 1] [1, 1] : tensor<1xf32> into tensor<1x2xf32>
  %b = tensor.pad %a low[0, 1] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x2xf32> to tensor<1x6xf32>
  %wide = arith.constant dense<0.0> : tensor<1x5xf32>
  %c = tensor.insert_slice %x into %wide[0, 1] [1, 2] [1, 1] : tensor<2xf32> into tensor<1x5xf32>
  %d = tensor.insert_slice %one into %c[0, 4] [1, 1] [1, 1] : tensor<1xf32> into tensor<1x5xf32>
  %e = tensor.pad %d low[1, 2] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x5xf32> to tensor<2x7xf32>
  return %b, %e : tensor<1x6xf32>, tensor<2x7xf32>
}
