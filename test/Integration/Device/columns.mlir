// RUN: %native %s --values integers --device

// Sums over rows of bf16, of which a thread takes two columns at once: two of
// one tensor with a factor of the row, of which one starts from a tensor; of
// fewer columns than a warp has threads; and of bytes, four at once.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @two(%x: tensor<96x130xbf16> {weft.name = "x"}, %f: tensor<96xf32> {weft.name = "f"},
    %s: tensor<130xf32> {weft.name = "s"})
    -> (tensor<130xf32> {weft.name = "sum"}, tensor<130xf32> {weft.name = "most"}) {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<130xf32>
  %z = linalg.fill ins(%low : f32) outs(%e : tensor<130xf32>) -> tensor<130xf32>
  %sums:2 = linalg.generic {indexing_maps = [#all, #row, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %f : tensor<96x130xbf16>, tensor<96xf32>) outs(%s, %z : tensor<130xf32>, tensor<130xf32>) {
  ^bb0(%v: bf16, %w: f32, %o: f32, %p: f32):
    %a = arith.extf %v : bf16 to f32
    %t = arith.mulf %a, %w : f32
    %r = arith.addf %o, %t : f32
    %m = arith.maximumf %p, %a : f32
    linalg.yield %r, %m : f32, f32
  } -> (tensor<130xf32>, tensor<130xf32>)
  return %sums#0, %sums#1 : tensor<130xf32>, tensor<130xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @few(%x: tensor<200x6xbf16> {weft.name = "x"}) -> (tensor<6xf32> {weft.name = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<200x6xbf16>) outs(%z : tensor<6xf32>) {
  ^bb0(%v: bf16, %o: f32):
    %a = arith.extf %v : bf16 to f32
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @bytes(%x: tensor<50x260xi8> {weft.name = "x"}) -> (tensor<260xi32> {weft.name = "sum"}) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<260xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<260xi32>) -> tensor<260xi32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<50x260xi8>) outs(%z : tensor<260xi32>) {
  ^bb0(%v: i8, %o: i32):
    %a = arith.extsi %v : i8 to i32
    %r = arith.addi %o, %a : i32
    linalg.yield %r : i32
  } -> tensor<260xi32>
  return %sum : tensor<260xi32>
}
