// RUN: %native %s --ulps 16 --cpus x86-64,x86-64-v3,x86-64-v4,native

// A softmax and a norm over rows, in one kernel each: exp differs from numpy's in
// the last places, but not from CPU to CPU.
#row = affine_map<(i, j) -> (i, j)>
#left = affine_map<(i, j) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
func.func @softmax(%x: tensor<9x200xf32> {weft.name = "x"}) -> (tensor<9x200xf32> {weft.name = "p"}, tensor<9x200xf32> {weft.name = "n"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<9xf32>
  %w = tensor.empty() : tensor<9x200xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %l = linalg.fill ins(%low : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %max = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<9x200xf32>) outs(%l : tensor<9xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.maximumf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<9xf32>
  %exp = linalg.generic {indexing_maps = [#row, #left, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<9x200xf32>, tensor<9xf32>) outs(%w : tensor<9x200xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<9x200xf32>
  %sum = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<9x200xf32>) outs(%z : tensor<9xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<9xf32>
  %p = linalg.generic {indexing_maps = [#row, #left, #row], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<9x200xf32>, tensor<9xf32>) outs(%w : tensor<9x200xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.divf %a, %m : f32
    linalg.yield %0 : f32
  } -> tensor<9x200xf32>
  %squares = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<9x200xf32>) outs(%z : tensor<9xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<9xf32>
  %n = linalg.generic {indexing_maps = [#row, #left, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares : tensor<9x200xf32>, tensor<9xf32>) outs(%w : tensor<9x200xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = math.rsqrt %m : f32
    %1 = arith.mulf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<9x200xf32>
  return %p, %n : tensor<9x200xf32>, tensor<9x200xf32>
}
}
