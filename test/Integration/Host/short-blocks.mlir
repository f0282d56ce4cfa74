// RUN: %native %s --values integers

// Blocks of 8 elements, which are half a vector: whoever walks two at once has to
// have all of both.

#all = affine_map<(i, j, k) -> (i, j, k)>
#block = affine_map<(i, j, k) -> (i, j)>
#row = affine_map<(i, j, k) -> (i)>

// Blocks lie in a row, each with a number; as many of them as are fetched ahead
// at once may be no whole pairs. What is updated in place is read once.
func.func @odd(%x: tensor<64x10x8xf32> {weft.name = "x"}, %w: tensor<64x10xf32> {weft.name = "w"})
    -> (tensor<64x10x8xf32> {weft.name = "y", weft.alias = 0 : index}) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<64x10x8xf32>) outs(%zero : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  %e = tensor.empty() : tensor<64x10x8xf32>
  %y = linalg.generic {indexing_maps = [#all, #block, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %w, %most : tensor<64x10x8xf32>, tensor<64x10xf32>, tensor<64xf32>) outs(%e : tensor<64x10x8xf32>) {
  ^bb0(%a: f32, %b: f32, %m: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x10x8xf32>
  return %y : tensor<64x10x8xf32>
}

// -----

// Rows so few that elements of blocks are shared out.
#pair = affine_map<(i, j) -> (i, j)>
#left = affine_map<(i, j) -> (i)>
func.func @cut(%x: tensor<6x8xf32> {weft.name = "x"}, %w: tensor<6xf32> {weft.name = "w"}) -> (tensor<6x8xf32> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<6x8xf32>
  %y = linalg.generic {indexing_maps = [#pair, #left, #pair], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<6x8xf32>, tensor<6xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Rows of 8 elements become one of several: a body knows in which it is.
#pair = affine_map<(i, j) -> (i, j)>
#left = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
func.func @place(%x: tensor<512x8xi32> {weft.name = "x"}) -> (tensor<512xi32> {weft.name = "s"}, tensor<512x8xi32> {weft.name = "y"}) {
  %zero = arith.constant dense<0> : tensor<512xi32>
  %most = linalg.generic {indexing_maps = [#pair, #left], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x8xi32>) outs(%zero : tensor<512xi32>) {
  ^bb0(%a: i32, %o: i32):
    %m = arith.maxsi %o, %a : i32
    linalg.yield %m : i32
  } -> tensor<512xi32>
  %es = tensor.empty() : tensor<512xi32>
  %mixed = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%most : tensor<512xi32>) outs(%es : tensor<512xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c3 = arith.constant 3 : i32
    %0 = arith.shrui %a, %c3 : i32
    %1 = arith.xori %0, %a : i32
    %2 = arith.muli %1, %c3 : i32
    %3 = arith.andi %2, %a : i32
    %4 = arith.addi %3, %0 : i32
    %5 = arith.xori %4, %1 : i32
    %6 = arith.muli %5, %5 : i32
    %7 = arith.addi %6, %c3 : i32
    linalg.yield %7 : i32
  } -> tensor<512xi32>
  %ey = tensor.empty() : tensor<512x8xi32>
  %y = linalg.generic {indexing_maps = [#pair, #left, #pair], iterator_types = ["parallel", "parallel"]} ins(%x, %mixed : tensor<512x8xi32>, tensor<512xi32>) outs(%ey : tensor<512x8xi32>) {
  ^bb0(%a: i32, %s: i32, %o: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %p = arith.addi %a, %n : i32
    %b = arith.addi %p, %s : i32
    linalg.yield %b : i32
  } -> tensor<512x8xi32>
  return %mixed, %y : tensor<512xi32>, tensor<512x8xi32>
}

// -----

// Sums in an order after what is found by blocks.
#four = affine_map<(i, j, k, l) -> (i, j, k, l)>
#first = affine_map<(i, j, k, l) -> (i, j, k)>
#all = affine_map<(i, j, k) -> (i, j, k)>
#block = affine_map<(i, j, k) -> (i, j)>
#across = affine_map<(i, j, k) -> (i, k)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
func.func @ordered(%x: tensor<64x16x8x3xf32> {weft.name = "x"}, %w: tensor<64x16xf32> {weft.name = "w"})
    -> (tensor<64x16x8xf32> {weft.name = "m"}, tensor<64x16xf32> {weft.name = "t"}, tensor<64x8xf32> {weft.name = "v"}) {
  %zero = arith.constant dense<0.0> : tensor<64x16x8xf32>
  %m = linalg.generic {indexing_maps = [#four, #first], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x : tensor<64x16x8x3xf32>) outs(%zero : tensor<64x16x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64x16x8xf32>
  %zt = arith.constant dense<0.0> : tensor<64x16xf32>
  %t = linalg.generic {indexing_maps = [#all, #block, #block], iterator_types = ["parallel", "parallel", "reduction"]} ins(%m, %w : tensor<64x16x8xf32>, tensor<64x16xf32>) outs(%zt : tensor<64x16xf32>) attrs = {weft.order = #weft.order<leaves = 8, lanes = 1>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.maximumf %a, %b : f32
    %r = arith.addf %o, %q : f32
    linalg.yield %r : f32
  } -> tensor<64x16xf32>
  %zv = arith.constant dense<0.0> : tensor<64x8xf32>
  %v = linalg.generic {indexing_maps = [#all, #block, #across], iterator_types = ["parallel", "reduction", "parallel"]} ins(%m, %w : tensor<64x16x8xf32>, tensor<64x16xf32>) outs(%zv : tensor<64x8xf32>) attrs = {weft.order = #weft.order<leaves = 8, lanes = 1>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.maximumf %a, %b : f32
    %r = arith.addf %o, %q : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  return %m, %t, %v : tensor<64x16x8xf32>, tensor<64x16xf32>, tensor<64x8xf32>
}
}
