// RUN: %native %s --device --ulps 1000

// Logarithms of sums of exponentials of rows that are too long to be held: their
// maxima are found in the same walk. Of bf16; and of an odd number, of which the
// first ones are -inf, as all of the last row are, which gives NaN.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @narrow(%x: tensor<3x25600xbf16> {weft.name = "x"}) -> (tensor<3xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3xf32>
  %m = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x25600xbf16>) outs(%m : tensor<3xf32>) {
  ^bb0(%v: bf16, %o: f32):
    %w = arith.extf %v : bf16 to f32
    %r = arith.maximumf %o, %w : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %max : tensor<3x25600xbf16>, tensor<3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%v: bf16, %t: f32, %o: f32):
    %w = arith.extf %v : bf16 to f32
    %d = arith.subf %w, %t : f32
    %p = math.exp %d : f32
    %r = arith.addf %o, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %y = linalg.map ins(%sum, %max : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>)
    (%s: f32, %t: f32, %o: f32) {
      %l = math.log %s : f32
      %r = arith.addf %l, %t : f32
      linalg.yield %r : f32
    }
  return %y : tensor<3xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @masked(%part: tensor<3x19001xf32> {weft.name = "x"})
    -> (tensor<4xf32> {weft.name = "max"}, tensor<4xf32> {weft.name = "sum"}, tensor<4x25001xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4x25001xf32>
  %lows = linalg.fill ins(%low : f32) outs(%f : tensor<4x25001xf32>) -> tensor<4x25001xf32>
  %x = tensor.insert_slice %part into %lows[0, 6000] [3, 19001] [1, 1] : tensor<3x19001xf32> into tensor<4x25001xf32>
  %m = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x25001xf32>) outs(%m : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.maximumf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %max : tensor<4x25001xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%v: f32, %t: f32, %o: f32):
    %d = arith.subf %v, %t : f32
    %p = math.exp %d : f32
    %r = arith.addf %o, %p : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max, %sum : tensor<4x25001xf32>, tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4x25001xf32>) {
  ^bb0(%v: f32, %t: f32, %s: f32, %o: f32):
    %d = arith.subf %v, %t : f32
    %p = math.exp %d : f32
    %q = arith.divf %p, %s : f32
    linalg.yield %q : f32
  } -> tensor<4x25001xf32>
  return %max, %sum, %y : tensor<4xf32>, tensor<4xf32>, tensor<4x25001xf32>
}
