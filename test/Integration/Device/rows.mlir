// RUN: %native %s --values integers --device

// Rows that are read and written by several neighbours at once, of numbers
// whose sums are exact: what is left of x without its sum, in place; the same
// of narrower numbers.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @single(%x: tensor<6x1024xf32> {weft.name = "x"})
    -> (tensor<6x1024xf32> {weft.name = "x", weft.alias = 0 : index}, tensor<6xf32> {weft.name = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x1024xf32>) outs(%z : tensor<6xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %e = tensor.empty() : tensor<6x1024xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<6x1024xf32>, tensor<6xf32>) outs(%e : tensor<6x1024xf32>) {
  ^bb0(%v: f32, %t: f32, %o: f32):
    %r = arith.subf %v, %t : f32
    linalg.yield %r : f32
  } -> tensor<6x1024xf32>
  return %y, %sum : tensor<6x1024xf32>, tensor<6xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @half(%x: tensor<3x4096xf16> {weft.name = "x"})
    -> (tensor<3x4096xf32> {weft.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4096xf16>) outs(%z : tensor<3xf32>) {
  ^bb0(%v: f16, %o: f32):
    %w = arith.extf %v : f16 to f32
    %r = arith.addf %o, %w : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %e = tensor.empty() : tensor<3x4096xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<3x4096xf16>, tensor<3xf32>) outs(%e : tensor<3x4096xf32>) {
  ^bb0(%v: f16, %t: f32, %o: f32):
    %w = arith.extf %v : f16 to f32
    %r = arith.subf %w, %t : f32
    linalg.yield %r : f32
  } -> tensor<3x4096xf32>
  return %y : tensor<3x4096xf32>
}
