// RUN: %native %s --ulps 8

// Loops that are cut for a core's caches and vectors: each function computes
// what it computed before, and its bodies know where they are.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>

// Numbers of short rows, which are made of many ops: several rows become one.
func.func @short_rows(%x: tensor<512x24xf32> {weft.name = "x"}) -> (tensor<512xi32> {weft.name = "s"}, tensor<512x24xf32> {weft.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<512xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x24xf32>) outs(%zero : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.absf %a : f32
    %b = arith.maximumf %o, %m : f32
    linalg.yield %b : f32
  } -> tensor<512xf32>
  %es = tensor.empty() : tensor<512xi32>
  %scale = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%most : tensor<512xf32>) outs(%es : tensor<512xi32>) {
  ^bb0(%a: f32, %o: i32):
    %c64 = arith.constant 64.0 : f32
    %wide = arith.mulf %a, %c64 : f32
    %bits = arith.fptosi %wide : f32 to i32
    %c3 = arith.constant 3 : i32
    %high = arith.shrui %bits, %c3 : i32
    %low = arith.andi %bits, %c3 : i32
    %mixed = arith.xori %high, %low : i32
    %twice = arith.muli %mixed, %c3 : i32
    %here = linalg.index 0 : index
    %row = arith.index_cast %here : index to i32
    %b = arith.addi %twice, %row : i32
    linalg.yield %b : i32
  } -> tensor<512xi32>
  %ey = tensor.empty() : tensor<512x24xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %scale : tensor<512x24xf32>, tensor<512xi32>) outs(%ey : tensor<512x24xf32>) {
  ^bb0(%a: f32, %s: i32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c24 = arith.constant 24 : index
    %above = arith.muli %i, %c24 : index
    %place = arith.addi %above, %j : index
    %number = arith.index_cast %place : index to i32
    %sum = arith.addi %number, %s : i32
    %f = arith.sitofp %sum : i32 to f32
    %b = arith.addf %a, %f : f32
    linalg.yield %b : f32
  } -> tensor<512x24xf32>
  return %scale, %y : tensor<512xi32>, tensor<512x24xf32>
}

// -----

// Columns of long rows: a part of them at a time.
#cube = affine_map<(i, j, k) -> (i, j, k)>
#columns = affine_map<(i, j, k) -> (i, k)>
func.func @long_rows(%x: tensor<4x8x1024xf32> {weft.name = "x"}) -> (tensor<4x8x1024xf32> {weft.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<4x1024xf32>
  %sum = linalg.generic {indexing_maps = [#cube, #columns], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<4x8x1024xf32>) outs(%zero : tensor<4x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %o, %a : f32
    linalg.yield %b : f32
  } -> tensor<4x1024xf32>
  %e = tensor.empty() : tensor<4x8x1024xf32>
  %y = linalg.generic {indexing_maps = [#cube, #columns, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %sum : tensor<4x8x1024xf32>, tensor<4x1024xf32>) outs(%e : tensor<4x8x1024xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %k = linalg.index 2 : index
    %n = arith.index_cast %k : index to i32
    %f = arith.sitofp %n : i32 to f32
    %d = arith.subf %a, %s : f32
    %b = arith.addf %d, %f : f32
    linalg.yield %b : f32
  } -> tensor<4x8x1024xf32>
  return %y : tensor<4x8x1024xf32>
}

// -----

// Sums of two elements, for each point of the other loops, from what is there.
#pairs = affine_map<(i, j, h) -> (i, j, h)>
#halves = affine_map<(i, j, h) -> (i, j)>
#of_row = affine_map<(i, j, h) -> (i)>
func.func @short_sums(%x: tensor<64x20x2xf32> {weft.name = "x"}, %start: tensor<64x20xi32> {weft.name = "start"}) -> (tensor<64x20xi32> {weft.name = "y"}, tensor<64xf32> {weft.name = "m"}) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %most = linalg.generic {indexing_maps = [#pairs, #of_row], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<64x20x2xf32>) outs(%zero : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.maximumf %o, %a : f32
    linalg.yield %b : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#pairs, #of_row, #halves], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %most : tensor<64x20x2xf32>, tensor<64xf32>) outs(%start : tensor<64x20xi32>) {
  ^bb0(%a: f32, %m: f32, %o: i32):
    %below = arith.cmpf olt, %a, %m : f32
    %bit = arith.extui %below : i1 to i32
    %h = linalg.index 2 : index
    %half = arith.index_cast %h : index to i32
    %c4 = arith.constant 4 : i32
    %count = arith.muli %half, %c4 : i32
    %placed = arith.shli %bit, %count : i32
    %b = arith.ori %o, %placed : i32
    linalg.yield %b : i32
  } -> tensor<64x20xi32>
  return %y, %most : tensor<64x20xi32>, tensor<64xf32>
}

// -----

// Magnitudes of squares, several rows of them at once: of squares whose scales
// are one vector, of one square, and of some with rows that no such number
// divides.
#square = affine_map<(i, r, j, c) -> (i, r, j, c)>
#of_square = affine_map<(i, r, j, c) -> (i, j)>
#scales = affine_map<(i, j) -> (i, j)>
func.func @squares(%x: tensor<16x12x32x8xf32> {weft.name = "x"}) -> (tensor<16x32xi32> {weft.name = "s"}, tensor<16x12x32x8xf32> {weft.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %most = linalg.generic {indexing_maps = [#square, #of_square], iterator_types = ["parallel", "reduction", "parallel", "reduction"]} ins(%x : tensor<16x12x32x8xf32>) outs(%zero : tensor<16x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.absf %a : f32
    %b = arith.maximumf %o, %m : f32
    linalg.yield %b : f32
  } -> tensor<16x32xf32>
  %es = tensor.empty() : tensor<16x32xi32>
  %scale = linalg.generic {indexing_maps = [#scales, #scales], iterator_types = ["parallel", "parallel"]} ins(%most : tensor<16x32xf32>) outs(%es : tensor<16x32xi32>) {
  ^bb0(%a: f32, %o: i32):
    %c64 = arith.constant 64.0 : f32
    %wide = arith.mulf %a, %c64 : f32
    %bits = arith.fptosi %wide : f32 to i32
    %c3 = arith.constant 3 : i32
    %high = arith.shrui %bits, %c3 : i32
    %low = arith.andi %bits, %c3 : i32
    %mixed = arith.xori %high, %low : i32
    %twice = arith.muli %mixed, %c3 : i32
    linalg.yield %twice : i32
  } -> tensor<16x32xi32>
  %ey = tensor.empty() : tensor<16x12x32x8xf32>
  %y = linalg.generic {indexing_maps = [#square, #of_square, #square], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %scale : tensor<16x12x32x8xf32>, tensor<16x32xi32>) outs(%ey : tensor<16x12x32x8xf32>) {
  ^bb0(%a: f32, %s: i32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %b = arith.addf %a, %f : f32
    linalg.yield %b : f32
  } -> tensor<16x12x32x8xf32>
  return %scale, %y : tensor<16x32xi32>, tensor<16x12x32x8xf32>
}

// -----

#whole = affine_map<(i, r, c) -> (i, r, c)>
#first = affine_map<(i, r, c) -> (i)>
func.func @rows_of_squares(%x: tensor<3x34x20xf32> {weft.name = "x"}, %p: tensor<2x37x9xf32> {weft.name = "p"}) -> (tensor<3xf32> {weft.name = "m"}, tensor<2xf32> {weft.name = "n"}) {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %m = linalg.generic {indexing_maps = [#whole, #first], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<3x34x20xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.absf %a : f32
    %b = arith.maximumf %o, %v : f32
    linalg.yield %b : f32
  } -> tensor<3xf32>
  %start = arith.constant dense<0.5> : tensor<2xf32>
  %n = linalg.generic {indexing_maps = [#whole, #first], iterator_types = ["parallel", "reduction", "reduction"]} ins(%p : tensor<2x37x9xf32>) outs(%start : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.absf %a : f32
    %b = arith.maximumf %o, %v : f32
    linalg.yield %b : f32
  } -> tensor<2xf32>
  return %m, %n : tensor<3xf32>, tensor<2xf32>
}

// -----

// Dims of no elements.
func.func @no_columns(%x: tensor<32x0xf32> {weft.name = "x"}) -> (tensor<32xf32> {weft.name = "s"}, tensor<32x0xf32> {weft.name = "y"}) {
  %one = arith.constant dense<1.0> : tensor<32xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<32x0xf32>) outs(%one : tensor<32xf32>) dimensions = [1]
  %e = tensor.empty() : tensor<32x0xf32>
  %s = linalg.broadcast ins(%sum : tensor<32xf32>) outs(%e : tensor<32x0xf32>) dimensions = [1]
  %y = arith.divf %x, %s : tensor<32x0xf32>
  return %sum, %y : tensor<32xf32>, tensor<32x0xf32>
}

// -----

func.func @no_rows(%x: tensor<0x64xf32> {weft.name = "x"}) -> (tensor<0xf32> {weft.name = "s"}, tensor<0x64xf32> {weft.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<0xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<0x64xf32>) outs(%zero : tensor<0xf32>) dimensions = [1]
  %e = tensor.empty() : tensor<0x64xf32>
  %s = linalg.broadcast ins(%sum : tensor<0xf32>) outs(%e : tensor<0x64xf32>) dimensions = [1]
  %y = arith.divf %x, %s : tensor<0x64xf32>
  return %sum, %y : tensor<0xf32>, tensor<0x64xf32>
}
