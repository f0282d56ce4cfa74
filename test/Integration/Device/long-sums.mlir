// RUN: %native %s --values integers --device

// Sums that become two kernels, exact in f32: of a whole tensor, and of its last
// elements alone.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @whole(%x: tensor<65536xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "sum"}, tensor<f32> {weft.name = "last"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sums:2 = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<65536xf32>) outs(%z, %z : tensor<f32>, tensor<f32>) {
  ^bb0(%v: f32, %o: f32, %p: f32):
    %i = linalg.index 0 : index
    %place = arith.constant 65520 : index
    %isLast = arith.cmpi ugt, %i, %place : index
    %t = arith.select %isLast, %v, %zero : f32
    %r = arith.addf %o, %v : f32
    %s = arith.addf %t, %p : f32
    linalg.yield %r, %s : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %sums#0, %sums#1 : tensor<f32>, tensor<f32>
}

// -----

// Of columns: two of one tensor, of which one starts from a tensor; of
// integers; the largest magnitude.

#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @columns(%x: tensor<6000x24xf32> {weft.name = "x"}, %i: tensor<4096x33xi32> {weft.name = "i"}, %s: tensor<24xf32> {weft.name = "s"})
    -> (tensor<24xf32> {weft.name = "sum"}, tensor<24xf32> {weft.name = "squares"}, tensor<24xf32> {weft.name = "amax"}, tensor<33xi32> {weft.name = "integers"}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %e = tensor.empty() : tensor<24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24xf32>) -> tensor<24xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<6000x24xf32>) outs(%z : tensor<24xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<24xf32>
  %squares = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<6000x24xf32>) outs(%s : tensor<24xf32>) {
  ^bb0(%v: f32, %o: f32):
    %q = arith.mulf %v, %v : f32
    %r = arith.addf %o, %q : f32
    linalg.yield %r : f32
  } -> tensor<24xf32>
  %amax = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<6000x24xf32>) outs(%z : tensor<24xf32>) {
  ^bb0(%v: f32, %o: f32):
    %a = math.absf %v : f32
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<24xf32>
  %ei = tensor.empty() : tensor<33xi32>
  %zi = linalg.fill ins(%none : i32) outs(%ei : tensor<33xi32>) -> tensor<33xi32>
  %integers = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%i : tensor<4096x33xi32>) outs(%zi : tensor<33xi32>) {
  ^bb0(%v: i32, %o: i32):
    %r = arith.addi %o, %v : i32
    linalg.yield %r : i32
  } -> tensor<33xi32>
  return %sum, %squares, %amax, %integers : tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<33xi32>
}

// -----

// Over two dims, of which the first one is parts as a whole.

#in = affine_map<(i, j, k) -> (j, i, k)>
#out = affine_map<(i, j, k) -> (k)>

func.func @two_dims(%x: tensor<512x8x24xf32> {weft.name = "x"}) -> (tensor<24xf32> {weft.name = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24xf32>) -> tensor<24xf32>
  %sum = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : tensor<512x8x24xf32>) outs(%z : tensor<24xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<24xf32>
  return %sum : tensor<24xf32>
}
