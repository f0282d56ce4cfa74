// RUN: %native %s --values special --cpus x86-64-v2,x86-64-v3

// An element that is not there is 0, also of tensors that folds know, or read
// through.

func.func @of_constants(%i: tensor<21xi32> {weft.name = "i"})
    -> (tensor<21xf32> {weft.name = "equal"}, tensor<21xi32> {weft.name = "computed"}, tensor<21xf32> {weft.name = "listed"}) {
  %equal = arith.constant dense<5.0> : tensor<4xf32>
  %one = arith.constant dense<1> : tensor<4xi32>
  %two = arith.addi %one, %one : tensor<4xi32>
  %listed = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e0 = tensor.empty() : tensor<21xf32>
  %e1 = tensor.empty() : tensor<21xi32>
  %r:3 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%i : tensor<21xi32>) outs(%e0, %e1, %e0 : tensor<21xf32>, tensor<21xi32>, tensor<21xf32>) {
  ^bb0(%j: i32, %o0: f32, %o1: i32, %o2: f32):
    %at = arith.index_cast %j : i32 to index
    %v = tensor.extract %equal[%at] : tensor<4xf32>
    %w = tensor.extract %two[%at] : tensor<4xi32>
    %u = tensor.extract %listed[%at] : tensor<4xf32>
    linalg.yield %v, %w, %u : f32, i32, f32
  } -> (tensor<21xf32>, tensor<21xi32>, tensor<21xf32>)
  return %r#0, %r#1, %r#2 : tensor<21xf32>, tensor<21xi32>, tensor<21xf32>
}

// -----

// Subscripts that are constants, or become constants.
func.func @at_constants(%x: tensor<2x3xf32> {weft.name = "x"}) -> (tensor<7xf32> {weft.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %cm1 = arith.constant -1 : index
  %wide = arith.constant 4294967296 : index
  %c4 = arith.addi %c1, %c3 : index
  %t = arith.constant dense<6.0> : tensor<2x3xf32>
  %f0 = arith.constant 1.0 : f32
  %listed = tensor.from_elements %f0, %f0, %f0, %f0, %f0, %f0 : tensor<2x3xf32>
  %e = tensor.empty() : tensor<2x3xf32>
  %filled = linalg.fill ins(%f0 : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = tensor.extract %t[%c0, %c4] : tensor<2x3xf32>
  %1 = tensor.extract %listed[%c0, %c4] : tensor<2x3xf32>
  %2 = tensor.extract %listed[%wide, %c1] : tensor<2x3xf32>
  %3 = tensor.extract %filled[%cm1, %c0] : tensor<2x3xf32>
  %4 = tensor.extract %x[%c1, %c4] : tensor<2x3xf32>
  %5 = tensor.extract %x[%c1, %c1] : tensor<2x3xf32>
  %6 = tensor.extract %t[%c1, %c1] : tensor<2x3xf32>
  %y = tensor.from_elements %0, %1, %2, %3, %4, %5, %6 : tensor<7xf32>
  return %y : tensor<7xf32>
}

// -----

// A row of a reshaped tensor, where the element exists in the other shape.
func.func @through_reshapes(%x: tensor<1x6xf32> {weft.name = "x"}, %i: tensor<9xi32> {weft.name = "i"})
    -> (tensor<9xf32> {weft.name = "collapsed"}, tensor<9xf32> {weft.name = "expanded"}) {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
  %w = tensor.expand_shape %c [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<9xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%i : tensor<9xi32>) outs(%e, %e : tensor<9xf32>, tensor<9xf32>) {
  ^bb0(%j: i32, %o0: f32, %o1: f32):
    %at = arith.index_cast %j : i32 to index
    %v = tensor.extract %c[%at] : tensor<6xf32>
    %u = tensor.extract %w[%c0, %at] : tensor<2x3xf32>
    linalg.yield %v, %u : f32, f32
  } -> (tensor<9xf32>, tensor<9xf32>)
  return %r#0, %r#1 : tensor<9xf32>, tensor<9xf32>
}
