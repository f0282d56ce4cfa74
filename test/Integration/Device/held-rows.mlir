// RUN: %native %s --values integers --device

// Rows that threads hold, of numbers whose sums are exact: what a phase gives
// is needed again in the next one, a result is stored on the way to a sum, and
// all rows read one vector. A row is a warp's, several warps', or less than a
// warp's; some threads have nothing at the row's end, and some rows are not
// there at the last block's end.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @warps(%x: tensor<5x999xf32> {weft.name = "x"}, %r: tensor<5x999xf32> {weft.name = "r"}, %g: tensor<999xf32> {weft.name = "g"})
    -> (tensor<5x999xf32> {weft.name = "h"}, tensor<5x999xf32> {weft.name = "y"}, tensor<5xf32> {weft.name = "most"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<5x999xf32>
  %s = tensor.empty() : tensor<5xf32>
  %h = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<5x999xf32>, tensor<5x999xf32>) outs(%e : tensor<5x999xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<5x999xf32>
  %lows = linalg.fill ins(%low : f32) outs(%s : tensor<5xf32>) -> tensor<5xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<5x999xf32>) outs(%lows : tensor<5xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<5xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %most : tensor<5x999xf32>, tensor<5xf32>) outs(%e : tensor<5x999xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %t = arith.subf %m, %v : f32
    linalg.yield %t : f32
  } -> tensor<5x999xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%s : tensor<5xf32>) -> tensor<5xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<5x999xf32>) outs(%zeros : tensor<5xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<5xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%d, %sum, %g : tensor<5x999xf32>, tensor<5xf32>, tensor<999xf32>) outs(%e : tensor<5x999xf32>) {
  ^bb0(%v: f32, %t: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<5x999xf32>
  return %h, %y, %most : tensor<5x999xf32>, tensor<5x999xf32>, tensor<5xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @odd_block(%x: tensor<9x1024xf32> {weft.name = "x"}, %r: tensor<9x1024xf32> {weft.name = "r"}, %g: tensor<1024xf32> {weft.name = "g"})
    -> (tensor<9x1024xf32> {weft.name = "h"}, tensor<9x1024xf32> {weft.name = "y"}, tensor<9xf32> {weft.name = "most"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<9x1024xf32>
  %s = tensor.empty() : tensor<9xf32>
  %h = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<9x1024xf32>, tensor<9x1024xf32>) outs(%e : tensor<9x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<9x1024xf32>
  %lows = linalg.fill ins(%low : f32) outs(%s : tensor<9xf32>) -> tensor<9xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<9x1024xf32>) outs(%lows : tensor<9xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<9xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %most : tensor<9x1024xf32>, tensor<9xf32>) outs(%e : tensor<9x1024xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %t = arith.subf %m, %v : f32
    linalg.yield %t : f32
  } -> tensor<9x1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%s : tensor<9xf32>) -> tensor<9xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<9x1024xf32>) outs(%zeros : tensor<9xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<9xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%d, %sum, %g : tensor<9x1024xf32>, tensor<9xf32>, tensor<1024xf32>) outs(%e : tensor<9x1024xf32>) {
  ^bb0(%v: f32, %t: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<9x1024xf32>
  return %h, %y, %most : tensor<9x1024xf32>, tensor<9x1024xf32>, tensor<9xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @small(%x: tensor<21x24xf32> {weft.name = "x"}, %r: tensor<21x24xf32> {weft.name = "r"}, %g: tensor<24xf32> {weft.name = "g"})
    -> (tensor<21x24xf32> {weft.name = "h"}, tensor<21x24xf32> {weft.name = "y"}, tensor<21xf32> {weft.name = "most"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<21x24xf32>
  %s = tensor.empty() : tensor<21xf32>
  %h = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<21x24xf32>, tensor<21x24xf32>) outs(%e : tensor<21x24xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<21x24xf32>
  %lows = linalg.fill ins(%low : f32) outs(%s : tensor<21xf32>) -> tensor<21xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<21x24xf32>) outs(%lows : tensor<21xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<21xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %most : tensor<21x24xf32>, tensor<21xf32>) outs(%e : tensor<21x24xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %t = arith.subf %m, %v : f32
    linalg.yield %t : f32
  } -> tensor<21x24xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%s : tensor<21xf32>) -> tensor<21xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<21x24xf32>) outs(%zeros : tensor<21xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<21xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%d, %sum, %g : tensor<21x24xf32>, tensor<21xf32>, tensor<24xf32>) outs(%e : tensor<21x24xf32>) {
  ^bb0(%v: f32, %t: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<21x24xf32>
  return %h, %y, %most : tensor<21x24xf32>, tensor<21x24xf32>, tensor<21xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @many(%x: tensor<4100x52xf32> {weft.name = "x"}, %r: tensor<4100x52xf32> {weft.name = "r"}, %g: tensor<52xf32> {weft.name = "g"})
    -> (tensor<4100x52xf32> {weft.name = "h"}, tensor<4100x52xf32> {weft.name = "y"}, tensor<4100xf32> {weft.name = "most"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4100x52xf32>
  %s = tensor.empty() : tensor<4100xf32>
  %h = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<4100x52xf32>, tensor<4100x52xf32>) outs(%e : tensor<4100x52xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<4100x52xf32>
  %lows = linalg.fill ins(%low : f32) outs(%s : tensor<4100xf32>) -> tensor<4100xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<4100x52xf32>) outs(%lows : tensor<4100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.maximumf %o, %v : f32
    linalg.yield %m : f32
  } -> tensor<4100xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %most : tensor<4100x52xf32>, tensor<4100xf32>) outs(%e : tensor<4100x52xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %t = arith.subf %m, %v : f32
    linalg.yield %t : f32
  } -> tensor<4100x52xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%s : tensor<4100xf32>) -> tensor<4100xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<4100x52xf32>) outs(%zeros : tensor<4100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<4100xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%d, %sum, %g : tensor<4100x52xf32>, tensor<4100xf32>, tensor<52xf32>) outs(%e : tensor<4100x52xf32>) {
  ^bb0(%v: f32, %t: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<4100x52xf32>
  return %h, %y, %most : tensor<4100x52xf32>, tensor<4100x52xf32>, tensor<4100xf32>
}
