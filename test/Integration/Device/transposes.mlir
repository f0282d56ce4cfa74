// RUN: %native %s --values integers --device

// Inputs that lie across outputs come through shared memory: whole tiles and
// parts of them, with others that lie along, batches, narrow and wide elements,
// indices of loops, and one input both ways.

#id = affine_map<(i, j) -> (i, j)>
#across = affine_map<(i, j) -> (j, i)>

func.func @plain(%x: tensor<64x96xf32> {weft.name = "x"}, %odd: tensor<45x70xf32> {weft.name = "odd"})
    -> (tensor<96x64xf32> {weft.name = "y"}, tensor<70x45xf32> {weft.name = "z"}) {
  %e = tensor.empty() : tensor<96x64xf32>
  %y = linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x96xf32>) outs(%e : tensor<96x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<96x64xf32>
  %f = tensor.empty() : tensor<70x45xf32>
  %z = linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
      ins(%odd : tensor<45x70xf32>) outs(%f : tensor<70x45xf32>) {
  ^bb0(%v: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w = arith.constant 100 : index
    %s = arith.muli %i, %w : index
    %p = arith.addi %s, %j : index
    %n = arith.index_cast %p : index to i32
    %g = arith.sitofp %n : i32 to f32
    %r = arith.addf %v, %g : f32
    linalg.yield %r : f32
  } -> tensor<70x45xf32>
  return %y, %z : tensor<96x64xf32>, tensor<70x45xf32>
}

// -----

#id = affine_map<(b, i, j) -> (b, i, j)>
#across = affine_map<(b, i, j) -> (j, b, i)>
#row = affine_map<(b, i, j) -> (b, j)>

// A batch, of which no two dims are one; two results, and what is updated in
// place beside.
func.func @batches(%x: tensor<40x3x33xbf16> {weft.name = "x"}, %d: tensor<40x3x33xf64> {weft.name = "d"},
                   %c: tensor<3x40xf32> {weft.name = "c"}, %s: tensor<3x33x40xf32> {weft.name = "s"})
    -> (tensor<3x33x40xf32> {weft.name = "s", weft.alias = 3 : index}, tensor<3x33x40xf64> {weft.name = "e"}) {
  %e0 = tensor.empty() : tensor<3x33x40xf32>
  %e1 = tensor.empty() : tensor<3x33x40xf64>
  %y:2 = linalg.generic {indexing_maps = [#across, #across, #row, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %d, %c, %s : tensor<40x3x33xbf16>, tensor<40x3x33xf64>, tensor<3x40xf32>, tensor<3x33x40xf32>)
      outs(%e0, %e1 : tensor<3x33x40xf32>, tensor<3x33x40xf64>) {
  ^bb0(%v: bf16, %w: f64, %k: f32, %old: f32, %o: f32, %p: f64):
    %f = arith.extf %v : bf16 to f32
    %a = arith.addf %f, %k : f32
    %r = arith.addf %a, %old : f32
    %t = arith.addf %w, %w : f64
    linalg.yield %r, %t : f32, f64
  } -> (tensor<3x33x40xf32>, tensor<3x33x40xf64>)
  return %y#0, %y#1 : tensor<3x33x40xf32>, tensor<3x33x40xf64>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#across = affine_map<(i, j) -> (j, i)>

func.func @both_ways(%x: tensor<50x50xi8> {weft.name = "x"}, %m: tensor<50x50xi1> {weft.name = "m"})
    -> (tensor<50x50xi8> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<50x50xi8>
  %y = linalg.generic {indexing_maps = [#across, #id, #across, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %x, %m : tensor<50x50xi8>, tensor<50x50xi8>, tensor<50x50xi1>) outs(%e : tensor<50x50xi8>) {
  ^bb0(%v: i8, %w: i8, %b: i1, %o: i8):
    %a = arith.subi %v, %w : i8
    %r = arith.select %b, %a, %w : i8
    linalg.yield %r : i8
  } -> tensor<50x50xi8>
  return %y : tensor<50x50xi8>
}

// -----

// Squares of elements of 2 bytes and of 1, in tiles that are not whole: one of
// both ways, and of batches.

#id = affine_map<(i, j) -> (i, j)>
#across = affine_map<(i, j) -> (j, i)>
#all = affine_map<(b, i, j) -> (b, i, j)>
#turned = affine_map<(b, i, j) -> (j, b, i)>

func.func @squares(%x: tensor<70x46xbf16> {weft.name = "x"}, %y: tensor<46x70xbf16> {weft.name = "y"},
    %c: tensor<52x3x36xi8> {weft.name = "c"})
    -> (tensor<46x70xbf16> {weft.name = "sum"}, tensor<3x36x52xi8> {weft.name = "d"}) {
  %e = tensor.empty() : tensor<46x70xbf16>
  %sum = linalg.generic {indexing_maps = [#across, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<70x46xbf16>, tensor<46x70xbf16>) outs(%e : tensor<46x70xbf16>) {
  ^bb0(%v: bf16, %w: bf16, %o: bf16):
    %r = arith.addf %v, %w : bf16
    linalg.yield %r : bf16
  } -> tensor<46x70xbf16>
  %f = tensor.empty() : tensor<3x36x52xi8>
  %d = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : tensor<52x3x36xi8>) outs(%f : tensor<3x36x52xi8>) {
  ^bb0(%v: i8, %o: i8):
    %r = arith.addi %v, %v : i8
    linalg.yield %r : i8
  } -> tensor<3x36x52xi8>
  return %sum, %d : tensor<46x70xbf16>, tensor<3x36x52xi8>
}
